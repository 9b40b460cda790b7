#include "nadi/cuda/optimizer_workspace.h"

#include "nadi/base/round_up.h"
#include "nadi/cuda/kernel_needs.h"

namespace nadi::inline engines::cuda {

// Per block: the sums of squares, of differences and of squared differences.
std::int64_t sgd_sai_workspace(const OpView&, const DeviceTraits& traits) {
  return gradient_sums_blocks(traits) * 3 * static_cast<std::int64_t>(sizeof(double));
}

// Where no two tensors are neighbours, each is a segment.
std::int64_t squared_norm_workspace(const OpView& op, const DeviceTraits& traits) {
  const auto tensors = static_cast<std::int64_t>(op.op.inputs.size());
  return divided_up(tensors, kSegmentsPerLaunch) * squared_norm_blocks(traits) *
         static_cast<std::int64_t>(sizeof(double));
}

}  // namespace nadi::inline engines::cuda
