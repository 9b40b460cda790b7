// The ranks of a job: who starts them, and how this process finds the others.
#pragma once

#include <cstdint>
#include <memory>

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

// Whether this process should start the ranks that --num-gpus asks for instead of being one.
bool starts_ranks(const Flags& flags);

// Runs the same command on as many ranks as --num-gpus says, to its end; throws as run_job() of
// launched_job.h.
void start_ranks(const Flags& flags, Console& console);

}  // namespace nadi
