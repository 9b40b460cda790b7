// Which GPU a rank takes, and whether ranks share one. Of the GPUs that the process sees (the CUDA runtime
// respects CUDA_VISIBLE_DEVICES) a rank takes the one with its number among the ranks of its host, modulo
// how many there are.
//
//   const DeviceChoice choice = choose_device(world, process_environment());    // on all ranks
//   if (rank == 0 && !choice.why_through_host.empty()) note(choice.why_through_host);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "nadi/engine/comm/communicator.h"
#include "nadi/engine/comm/launcher_environment.h"

namespace nadi::cuda {

struct DeviceChoice {
  int number = 0;  // of those that the process sees
  // Why messages go through memory of the host, as a sentence for the user; empty where each rank has a GPU
  // of its own and NCCL is there, or there is only one rank. The same on all ranks.
  std::string why_through_host = {};
};

// Collective, unless `world` is nullptr: a rank that talks to nobody. Error (environment) when there is no
// GPU.
DeviceChoice choose_device(Communicator* world, const EnvironmentLookup& environment);

// The two halves of it, without a GPU.

// `visible` is at least 1.
int device_of_rank(const EnvironmentLookup& environment, int visible);

// What a rank says about the GPU that it took.
struct DeviceIdentity {
  std::array<std::byte, 16> uuid = {};
  bool nccl = false;  // the library was found
};
// Collective. See DeviceChoice::why_through_host.
std::string why_through_host(Communicator& world, const DeviceIdentity& own);

}  // namespace nadi::cuda
