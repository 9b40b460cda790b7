// This process among the ranks of its job: alone, or one of those that mpirun or srun started.
//
//   RankWorld world;                  // one per process
//   train(options, data, world.communicator(), listener, stop_asked);
#pragma once

#include <memory>

namespace nadi {

class Communicator;

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

}  // namespace nadi
