#include "nadi/cuda/device_record.h"

#include <cuda_runtime_api.h>

#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/device.h"

namespace nadi::inline engines::cuda {

ExecutedDevice device_record(const Device& device) {
  cudaDeviceProp gpu{};
  check_cuda(cudaGetDeviceProperties(&gpu, device.number()), "cudaGetDeviceProperties");
  const auto number = [](auto value) { return static_cast<std::int64_t>(value); };
  return {.kind = ExecutedDevice::Kind::kCuda,
          .number = device.number(),
          .name = device.name(),
          .properties = {{"totalGlobalMem", number(gpu.totalGlobalMem)},
                         {"computeMajor", number(gpu.major)},
                         {"computeMinor", number(gpu.minor)},
                         {"maxThreadsPerBlock", number(gpu.maxThreadsPerBlock)},
                         {"maxThreadsPerMultiprocessor", number(gpu.maxThreadsPerMultiProcessor)},
                         {"regsPerBlock", number(gpu.regsPerBlock)},
                         {"warpSize", number(gpu.warpSize)},
                         {"sharedMemPerBlock", number(gpu.sharedMemPerBlock)},
                         {"numSms", number(gpu.multiProcessorCount)},
                         {"regsPerMultiprocessor", number(gpu.regsPerMultiprocessor)},
                         {"sharedMemPerBlockOptin", number(gpu.sharedMemPerBlockOptin)},
                         {"sharedMemPerMultiprocessor", number(gpu.sharedMemPerMultiprocessor)}}};
}

}  // namespace nadi::inline engines::cuda
