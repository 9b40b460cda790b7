// Takes a GPU for this rank. Of those that the process sees (CUDA's runtime respects CUDA_VISIBLE_DEVICES) a
// rank takes the one with its number among the ranks of its host, modulo how many there are.
//
//   const DeviceChoice choice = choose_device(world, process_environment());    // on all ranks
//   if (rank == 0 && !choice.why_through_host.empty()) note(choice.why_through_host);
#pragma once

#include <string>

#include "nadi/comm/communicator.h"
#include "nadi/comm/launcher_environment.h"

namespace nadi::inline engines::cuda {

struct DeviceChoice {
  int number = 0;  // of those that the process sees
  // As a sentence for the user; empty where each rank has a GPU of its own and NCCL, or there is only one
  // rank. The same on all ranks.
  std::string why_through_host = {};
};

// Collective, unless `world` is nullptr: a rank that talks to nobody. Error (environment) when there is no
// GPU.
DeviceChoice choose_device(Communicator* world, const EnvironmentLookup& environment);

}  // namespace nadi::inline engines::cuda
