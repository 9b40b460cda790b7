// Ends a command before it allocates more memory than its machine, or its GPU, has free
// (job/memory_shortage.h).
#pragma once

#include "nadi/engine/engine_memory.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline show {

// Collective: all ranks call it, each with the memory that it needs itself. Error (environment) with the
// needed memory, the free memory, and the flags that need less for steps of `kind`.
void check_memory(Communicator& world, const MemorySummary& needed, StepKind kind);
// The same for the memory of the GPU that each rank takes.
void check_gpu_memory(Communicator& world, const EngineMemory& needed, StepKind kind);

}  // namespace nadi::inline show
