#include "nadi/cuda/shared_memory_limit.h"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <utility>

#include "nadi/cuda/cuda_error.h"

namespace nadi::inline engines::cuda {

void allow_shared_memory(const void* kernel, std::size_t bytes) {
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, std::size_t> limits;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  const std::lock_guard lock(mutex);
  std::size_t& limit = limits[{device, kernel}];
  if (bytes <= limit) return;
  check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "setting the shared memory of a kernel");
  limit = bytes;
}

}  // namespace nadi::inline engines::cuda
