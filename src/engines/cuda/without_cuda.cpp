// The CUDA engine in a build without CUDA: says so when it is asked for.

#include <memory>

#include "nadi/base/error.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/cuda/cuda_engine.h"
#include "nadi/engine/engine.h"

namespace nadi::inline engines {
namespace cuda {

std::optional<WhyNoCuda> why_no_cuda() {
  return WhyNoCuda{"CUDA cannot be used: this build of nadi has none",
                   "install CUDA's toolkit (nvcc) and run 'make build CUDA=all'; or use --device cpu"};
}

std::vector<GpuDescription> gpus() {
  return {};
}

GpuDescription gpu_of_this_rank() {
  const auto why = why_no_cuda();
  throw environment_error(why->reason, why->hint);
}

CudaDescription describe_cuda() {
  return {};
}

}  // namespace cuda

std::unique_ptr<Engine> make_cuda_engine(const EngineOptions&) {
  const auto why = cuda::why_no_cuda();
  throw environment_error(why->reason, why->hint);
}

}  // namespace nadi::inline engines
