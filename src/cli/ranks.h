// The ranks of a job: who starts them, and how this process finds the others.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace nadi {

class Communicator;
class Flags;
struct Console;

// This process among the ranks: alone, or one of those that mpirun or srun started. One per process.
class RankWorld {
 public:
  // Error (environment) when there are other ranks and this build has no MPI.
  RankWorld();
  ~RankWorld();
  Communicator& communicator();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Whether this process should start so many ranks instead of being one. Error (usage) where torchrun or
// another launcher of PyTorch started it as one of several: they would be as many jobs.
bool starts_ranks(std::int64_t ranks);

// Runs the same command ("train") on so many ranks, to its end; throws as run_job() of launched_job.h.
void start_ranks(std::string_view command, std::int64_t ranks, const Flags& flags, Console& console);

}  // namespace nadi
