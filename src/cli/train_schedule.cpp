#include "nadi/cli/train_schedule.h"

#include <cmath>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/flags.h"
#include "nadi/cli/megatron_flags.h"

namespace nadi {
namespace {

// A length in steps, or in samples under another flag.
std::optional<std::int64_t> steps_of(const Flags& flags, std::string_view steps_flag,
                                     std::string_view samples_flag, std::int64_t global_batch) {
  const std::string_view name = given_name(flags, steps_flag);
  const auto steps = flags.integer(name, 0);
  const auto samples = flags.integer(samples_flag, 0);
  if (steps && samples) throw usage_error(format("{} and {} contradict each other", name, samples_flag));
  if (samples) return *samples / global_batch;
  return steps;
}

void resolve_warmup(const Flags& flags, const TrainSchedule& schedule, std::int64_t global_batch,
                    LearningRate& rate) {
  const auto steps = steps_of(flags, "--warmup-steps", "--lr-warmup-samples", global_batch);
  rate.warmup_steps = steps.value_or(rate.warmup_steps);
  const auto fraction = flags.number("--lr-warmup-fraction", 1);
  if (!fraction) return;
  if (steps.value_or(0) > 0)
    throw usage_error("--lr-warmup-fraction and a number of steps for the warm-up contradict each other");
  const std::int64_t whole = rate.decay_steps > 0 ? rate.decay_steps : schedule.max_steps;
  if (whole == 0)
    throw usage_error("--lr-warmup-fraction of what: the number of steps is not known",
                      "give --train-iters or --lr-decay-iters");
  rate.warmup_steps = std::llround(*fraction * static_cast<double>(whole));
}

}  // namespace

TrainSchedule resolve_schedule(const Flags& flags, std::int64_t global_batch) {
  TrainSchedule schedule;
  if (const auto steps = steps_of(flags, "--max-steps", "--train-samples", global_batch)) {
    if (*steps == 0)
      throw usage_error(
          flags.given("--train-samples")
              ? format("--train-samples {} are not even one global batch of {}",
                       *flags.text("--train-samples"), global_batch)
              : format("{} takes a whole number of at least 1, not '0'", given_name(flags, "--max-steps")));
    schedule.max_steps = *steps;
  }
  LearningRate& rate = schedule.learning_rate;
  rate.peak = flags.number(given_name(flags, "--learning-rate")).value_or(rate.peak);
  if (const auto choice = flags.choice(given_name(flags, "--lr-scheduler")))
    rate.decay = decays()[*choice].decay;
  rate.minimum = flags.number("--min-lr").value_or(rate.minimum);
  rate.start = flags.number("--lr-warmup-init").value_or(rate.start);
  for (const auto& [flag, value] : {std::pair{"--min-lr", rate.minimum}, {"--lr-warmup-init", rate.start}})
    if (value > rate.peak)
      throw usage_error(format("{} {} is above the learning rate's peak of {}", flag, value, rate.peak));
  rate.decay_steps =
      steps_of(flags, "--lr-decay-iters", "--lr-decay-samples", global_batch).value_or(rate.decay_steps);
  resolve_warmup(flags, schedule, global_batch, rate);
  rate.late_warmup = uses_megatron_flags(flags);
  return schedule;
}

}  // namespace nadi
