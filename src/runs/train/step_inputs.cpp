#include "nadi/train/step_inputs.h"

#include <array>
#include <string>
#include <vector>

#include "nadi/graph/shard.h"

namespace nadi::inline runs {
namespace {

// Programs have the inputs that their graphs read; a GPT-2 has no token types.
template <class T>
void set_if_wanted(const StepInputs& inputs, const char* name, std::span<const T> values,
                   std::optional<std::int64_t> micro_batch = {}) {
  if (inputs.engine.has_input(inputs.program, name))
    inputs.engine.set_input<T>(inputs.program, inputs.set, name, values, micro_batch);
}

}  // namespace

void set_step_scalars(const StepInputs& inputs, const StepScalars& scalars) {
  const std::array count{static_cast<float>(scalars.token_count)};
  const std::array advance{scalars.schedule_advance};
  set_if_wanted<float>(inputs, "token_count", count);
  set_if_wanted<std::int64_t>(inputs, "schedule_advance", advance);
}

Batch split_over_context(Batch batch, const Plan& plan, std::int64_t place) {
  if (plan.cp == 1) return batch;
  const auto rows = static_cast<std::int64_t>(batch.lengths.size());
  const std::int64_t tokens = static_cast<std::int64_t>(batch.input_ids.size()) / rows;
  const std::vector<std::int64_t> own = whole_indices(
      {rows, tokens / plan.cp},
      std::vector{zigzag_shard(std::string(to_string(GroupKind::kContext)), plan.cp, 1, tokens)},
      [place](const std::string&) { return place; });
  for (std::vector<std::int32_t>* values : {&batch.input_ids, &batch.token_type_ids, &batch.targets}) {
    std::vector<std::int32_t> part;
    part.reserve(own.size());
    for (const std::int64_t i : own) part.push_back((*values)[static_cast<std::size_t>(i)]);
    *values = std::move(part);
  }
  return batch;
}

void set_batch(const StepInputs& inputs, const Batch& batch, std::int64_t micro_batch) {
  set_if_wanted<std::int32_t>(inputs, "input_ids", batch.input_ids, micro_batch);
  set_if_wanted<std::int32_t>(inputs, "token_type_ids", batch.token_type_ids, micro_batch);
  set_if_wanted<std::int32_t>(inputs, "targets", batch.targets, micro_batch);
  set_if_wanted<std::int32_t>(inputs, "lengths", batch.lengths, micro_batch);
}

void set_random(const StepInputs& inputs, const StepScalars& scalars, std::int64_t micro_batch,
                std::int64_t first_sample) {
  const std::array<std::int64_t, 3> random{static_cast<std::int64_t>(scalars.seed), scalars.step,
                                           first_sample};
  set_if_wanted<std::int64_t>(inputs, "random", random, micro_batch);
}

}  // namespace nadi::inline runs
