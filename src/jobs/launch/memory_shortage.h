// Whether the ranks of each machine fit into the free memory of that machine, or those that share a GPU into
// its memory, checked before any rank allocates: the kernel kills a process that takes too much, without a
// message, and a GPU refuses after minutes of preparation.
//
//   if (const auto shortage = find_memory_shortage(world, predicted_memory(options, rank))) ...
//
// The needed memory is the prediction of the memory plan; the free memory is that of free_memory.h. Ranks
// that were started together exchange both, so it does not matter who started them, and all ranks get the
// same answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nadi/cuda/cuda_available.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/parallel/program_summary.h"

namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline jobs {

// A rank, as it describes itself to the others. Sizes in bytes.
struct RankMemory {
  std::uint64_t machine = 0;  // the same number on all ranks of a machine
  std::uint64_t group = 0;    // the control group with the least memory left, likewise; 0 means no limit
  std::int64_t needed = 0;
  std::int64_t state = 0;          // of which parameters, gradients and optimizer state
  std::int64_t machine_free = -1;  // -1 means the system does not say
  std::int64_t group_free = 0;
  std::int64_t group_limit = 0;
  bool on_gpu = false;  // then the machine is a GPU
};

// The first machine or control group whose ranks do not fit.
struct MemoryShortage {
  std::string message;  // "not enough memory: the 2 ranks on this machine need 12.0 GiB, ..."
  Bytes state;          // parameters, gradients and optimizer state of these ranks
  Bytes free;
};

// By rank.
std::optional<MemoryShortage> find_memory_shortage(std::span<const RankMemory> ranks);

// Collective: all ranks call it, each with the memory that it needs itself.
std::optional<MemoryShortage> find_memory_shortage(Communicator& world, const MemorySummary& needed);

// The same for the memory of GPUs, each rank with the GPU that it takes.
std::optional<MemoryShortage> find_gpu_memory_shortage(Communicator& world, const EngineMemory& needed,
                                                       const cuda::GpuDescription& gpu);

}  // namespace nadi::inline jobs
