#include "nadi/train/step_feeder.h"

#include <chrono>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/train/trainer.h"

namespace nadi::inline runs {
namespace {

double fed_at() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t sum_of_lengths(const Batch& batch) {
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < batch.samples; ++i) total += batch.lengths[static_cast<std::size_t>(i)];
  return total;
}

}  // namespace

std::int64_t StepFeeder::micro_batches_of(std::int64_t batch) const {
  return batch / (from_.options.batch_size * from_.plan.dp);
}

FedStep StepFeeder::feed() {
  const double start = fed_at();
  const RunState& state = from_.state;
  FedStep fed{.set = next_set_, .number = state.step() + 1, .size = state.batch_size()};
  fed.program = &programs_.at(micro_batches_of(fed.size));
  next_set_ = other(next_set_);
  const StepInputs inputs{from_.engine, fed.program->handle, fed.set};
  const RunState::Position position = state.next_position();
  const RowRange rows{.epoch = position.epoch, .first = position.samples, .rows = fed.size};
  fed.scalars = {
      .seed = from_.options.seed, .step = fed.number, .schedule_advance = state.schedule_advance()};
  for (std::int64_t m = 0; m < fed.program->micro_batches; ++m) {
    const Part part{.rank = from_.place.dp * fed.program->micro_batches + m,
                    .ranks = from_.plan.dp * fed.program->micro_batches};
    const Batch batch = from_.data.batch_of(rows, part);
    set_batch(inputs, split_over_context(batch, from_.plan, from_.place.cp), m);
    set_random(inputs, fed.scalars, m, part.rank * from_.options.batch_size);
    fed.scalars.token_count += batch.tokens;
    fed.samples += batch.samples;
    fed.tokens += sum_of_lengths(batch);
  }
  fed.scalars.token_count = from_.agreement.sum(counts() ? fed.scalars.token_count : 0);
  fed.samples = from_.agreement.sum(counts() ? fed.samples : 0);
  fed.tokens = from_.agreement.sum(counts() ? fed.tokens : 0);
  set_step_scalars(inputs, fed.scalars);
  fed.seconds = fed_at() - start;
  return fed;
}

FedStep StepFeeder::take() {
  if (failure_) std::rethrow_exception(failure_);
  return fed_ ? *std::exchange(fed_, std::nullopt) : feed();
}

void StepFeeder::feed_ahead() {
  if (from_.state.step() == from_.state.total_steps()) return;
  try {
    fed_ = feed();
  } catch (const Error&) {
    failure_ = std::current_exception();
  }
}

}  // namespace nadi::inline runs
