// Which GPU a rank takes, and what ranks that share one do: decided without CUDA, from what the launcher and
// the other ranks say. device_choice.h asks the devices.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "nadi/comm/communicator.h"
#include "nadi/comm/launcher_environment.h"

namespace nadi::inline engines::cuda {

// Chooses among so many GPUs that the process sees, at least one: that with the rank's number among those of its host,
// modulo how many there are. A launcher that does not say that number gives each rank its number of the job.
int device_of_rank(const EnvironmentLookup& environment, int visible);

// What a rank says about the GPU that it took.
struct DeviceIdentity {
  std::array<std::byte, 16> uuid = {};
  bool nccl = false;  // the library can be used
};

// Why messages go through memory of the host, as a sentence for the user; empty where each rank has a GPU of
// its own and NCCL. Collective; the same on all ranks. With `shared_too` also where ranks share one.
std::string why_through_host(Communicator& world, const DeviceIdentity& own, bool shared_too = false);

// For tests, which have one GPU: NADI_TEST_NCCL=shared-gpu lets ranks that share one talk over NCCL all the
// same. NCCL refuses two ranks on one GPU of one host, so each says that it is on a host of its own (the
// variables that this returns, to be set before NCCL is loaded), and NCCL goes over sockets. Nothing without it;
// Error (usage) for another value.
std::vector<std::pair<std::string, std::string>> nccl_on_shared_gpu(const EnvironmentLookup& environment);

}  // namespace nadi::inline engines::cuda
