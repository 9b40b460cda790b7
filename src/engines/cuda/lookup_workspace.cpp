#include "nadi/cuda/embedding_grad_workspace.h"
#include "nadi/cuda/kernel_needs.h"

namespace nadi::inline engines::cuda {

std::int64_t embedding_grad_workspace(const OpView& op, const DeviceTraits&) {
  return EmbeddingGradPlan(op).bytes();
}

}  // namespace nadi::inline engines::cuda
