#include "nadi/launched/memory_check.h"

#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/launch/memory_shortage.h"

namespace nadi::inline show {
namespace {

std::string advice(const MemoryShortage& shortage, StepKind kind) {
  const bool state_alone = shortage.state >= shortage.free;
  const std::string state = to_string(shortage.state);
  std::string text;
  if (kind != StepKind::kTrain)
    text = state_alone
               ? format(
                     "the weights alone need {}: --dtype bf16 halves them, --tp splits them over ranks "
                     "on more machines",
                     state)
               : "a smaller --batch-size, fewer --num-output-tokens, or --dtype bf16 need less";
  else if (state_alone)
    text = format(
        "parameters, gradients and optimizer state alone need {}: --tp, --pp and --zero 1 split them over "
        "ranks on more machines, --optimizer sgd keeps less",
        state);
  else
    text = "a smaller --batch-size or --max-seq-length, or --recompute full need less";
  return text + "; 'nadi show' says what takes it; --no-memory-check starts all the same";
}

// The figures of this rank, as `nadi show --device cuda` prints them.
std::string figures(const EngineMemory& needed) {
  return format("variables {}, activations {}, workspaces {}, inputs and padding {}",
                to_string(needed.variables), to_string(needed.values),
                to_string(needed.workspace + needed.staging), to_string(needed.inputs + needed.padding));
}

}  // namespace

void check_gpu_memory(Communicator& world, const EngineMemory& needed, StepKind kind) {
  const cuda::GpuDescription gpu = cuda::gpu_of_this_rank();
  if (const auto shortage = find_gpu_memory_shortage(world, needed, gpu))
    throw environment_error(
        format("{} (GPU {}, {}); of a rank: {}", shortage->message, gpu.number, gpu.name, figures(needed)),
        advice(*shortage, kind));
}

void check_memory(Communicator& world, const MemorySummary& needed, StepKind kind) {
  if (const auto shortage = find_memory_shortage(world, needed))
    throw environment_error(shortage->message, advice(*shortage, kind));
}

}  // namespace nadi::inline show
