// Whether the ranks of each machine fit into the memory that is free there, asked before any of them takes
// it: the kernel ends whoever takes too much, without a word.
//
//   check_memory(world, predicted_memory(options, rank), StepKind::kTrain);
//
// What is needed is what `nadi show` predicts; what is free, job/free_memory.h says. Ranks that were started
// together tell each other, so that it does not matter who started them, and all of them throw the same
// Error.
#pragma once

#include <cstdint>
#include <span>

#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"

namespace nadi {

class Communicator;

// A rank, as the others hear of it. Sizes in bytes.
struct RankMemory {
  std::uint64_t machine = 0;  // ranks with the same number share it
  std::uint64_t group = 0;    // the control group with the least left, likewise; 0: there is no limit
  std::int64_t needed = 0;
  std::int64_t state = 0;          // of which parameters, gradients and optimizer state
  std::int64_t machine_free = -1;  // -1: the system does not say
  std::int64_t group_free = 0;
  std::int64_t group_limit = 0;
};

// Error (environment) with what is needed, what is free, and what would help. By rank; `kind` is what they
// do.
void check_memory(std::span<const RankMemory> ranks, StepKind kind);

// Collective: called by all ranks, each with what it needs itself.
void check_memory(Communicator& world, const MemorySummary& needed, StepKind kind);

}  // namespace nadi
