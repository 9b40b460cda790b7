// In place of cudnn_attention.cpp where the build has no headers of cuDNN: attention is computed by the own
// kernels.
#include "nadi/cuda/cudnn_attention.h"

namespace nadi::inline engines::cuda {

class CudnnAttention::State {};

CudnnAttention::~CudnnAttention() = default;

std::unique_ptr<CudnnAttention> CudnnAttention::open(const Device&) {
  return nullptr;
}

bool CudnnAttention::run_forward(const KernelCall&) {
  return false;
}

bool CudnnAttention::run_gradient(const KernelCall&) {
  return false;
}

}  // namespace nadi::inline engines::cuda
