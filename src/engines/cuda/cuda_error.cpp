#include "nadi/cuda/cuda_error.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

void check_cuda(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  throw environment_error(
      format("{} failed: {} ({})", call, cudaGetErrorString(result), cudaGetErrorName(result)),
      "see 'nadi devices' for what this machine has");
}

void check_launch(const KernelCall& call) {
  const cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) return;
  throw environment_error(
      format("op '{}' ({}) could not be launched: {} ({})", call.op().op.op.name,
             to_string(call.op().op.op.kind), cudaGetErrorString(result), cudaGetErrorName(result)),
      "see 'nadi devices' for what this machine has");
}

}  // namespace nadi::inline engines::cuda
