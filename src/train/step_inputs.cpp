#include "nadi/train/step_inputs.h"

#include <array>

namespace nadi {
namespace {

// Programs have the inputs that their graphs read; a GPT-2 has no token types.
template <class T>
void set_if_wanted(CpuEngine& engine, LoadedProgram& program, const char* name, std::span<const T> values,
                   std::optional<std::int64_t> micro_batch = {}) {
  if (CpuEngine::has_input(program, name)) engine.set_input<T>(program, name, values, micro_batch);
}

}  // namespace

void set_step_scalars(CpuEngine& engine, LoadedProgram& program, const StepScalars& scalars) {
  const std::array rate{static_cast<float>(scalars.learning_rate)};
  const std::array count{static_cast<float>(scalars.token_count)};
  const std::array update{scalars.update};
  set_if_wanted<float>(engine, program, "learning_rate", rate);
  set_if_wanted<float>(engine, program, "token_count", count);
  set_if_wanted<std::int64_t>(engine, program, "step", update);
}

void set_batch(CpuEngine& engine, LoadedProgram& program, const Batch& batch, std::int64_t micro_batch) {
  set_if_wanted<std::int32_t>(engine, program, "input_ids", batch.input_ids, micro_batch);
  set_if_wanted<std::int32_t>(engine, program, "token_type_ids", batch.token_type_ids, micro_batch);
  set_if_wanted<std::int32_t>(engine, program, "targets", batch.targets, micro_batch);
  set_if_wanted<std::int32_t>(engine, program, "lengths", batch.lengths, micro_batch);
}

void set_random(CpuEngine& engine, LoadedProgram& program, const StepScalars& scalars,
                std::int64_t micro_batch, std::int64_t first_sample) {
  const std::array<std::int64_t, 3> random{static_cast<std::int64_t>(scalars.seed), scalars.step,
                                           first_sample};
  set_if_wanted<std::int64_t>(engine, program, "random", random, micro_batch);
}

}  // namespace nadi
