#include "nadi/cuda/device_choice.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/device_sharing.h"
#include "nadi/cuda/nccl_library.h"

namespace nadi::inline engines::cuda {

DeviceChoice choose_device(Communicator* world, const EnvironmentLookup& environment) {
  int visible = 0;
  check_cuda(cudaGetDeviceCount(&visible), "cudaGetDeviceCount");
  if (visible < 1) throw environment_error("no GPU is visible to this process", "see CUDA_VISIBLE_DEVICES");
  DeviceChoice choice{.number = device_of_rank(environment, visible)};
  if (world == nullptr || world->size() == 1) return choice;
  const auto shared = nccl_on_shared_gpu(environment);
  for (const auto& [name, value] : shared) setenv(name.c_str(), value.c_str(), 1);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, choice.number), "cudaGetDeviceProperties");
  DeviceIdentity own{.nccl = nccl_library() != nullptr};
  static_assert(sizeof(own.uuid) == sizeof(properties.uuid));
  std::memcpy(own.uuid.data(), &properties.uuid, sizeof(own.uuid));
  choice.why_through_host = why_through_host(*world, own, !shared.empty());
  return choice;
}

}  // namespace nadi::inline engines::cuda
