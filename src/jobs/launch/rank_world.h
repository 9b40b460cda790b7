// This process among the ranks of its job: alone, or one of those that mpirun or srun started.
//
//   RankWorld world(watch_options);   // one per process
//   train(options, data, world.communicator(), listener, stop_asked);
//
// From its beginning, before the ranks have met, to its end it is watched whether the ranks get on
// (rank_watch.h).
#pragma once

#include <memory>

namespace nadi::inline engines {
class Communicator;
}  // namespace nadi::inline engines

namespace nadi::inline jobs {

class RankWatch;
struct RankWatchOptions;

class RankWorld {
 public:
  // Error (environment) when there are other ranks and this build has no MPI.
  explicit RankWorld(const RankWatchOptions& watch);
  ~RankWorld();
  Communicator& communicator();
  RankWatch& watch();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace nadi::inline jobs
