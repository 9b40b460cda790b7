#include "nadi/cli/memory_check.h"

#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/job/memory_shortage.h"

namespace nadi {
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

}  // namespace

void check_memory(Communicator& world, const MemorySummary& needed, StepKind kind) {
  if (const auto shortage = find_memory_shortage(world, needed))
    throw environment_error(shortage->message, advice(*shortage, kind));
}

}  // namespace nadi
