// Which kernel computes an op may depend on addresses (attention_kernels.cpp), so there is room for whichever
// needs most.
#include <algorithm>

#include "nadi/cuda/attention_scratch.h"
#include "nadi/cuda/cudnn_attention_workspace.h"
#include "nadi/cuda/few_queries.h"
#include "nadi/cuda/kernel_needs.h"

namespace nadi::inline engines::cuda {

std::int64_t attention_workspace(const OpView& op, const DeviceTraits& traits) {
  const AttentionExtents e = attention_extents(op);
  const std::int64_t few = e.T <= FewQueries::kMostTokens ? FewQueries(e, traits).workspace : 0;
  return std::max(few, cudnn_attention_workspace(op, traits));
}

std::int64_t attention_grad_workspace(const OpView& op, const DeviceTraits& traits) {
  return std::max(AttentionScratch(op).bytes(), cudnn_attention_workspace(op, traits));
}

}  // namespace nadi::inline engines::cuda
