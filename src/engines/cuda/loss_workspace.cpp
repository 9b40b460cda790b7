#include "nadi/cuda/kernel_needs.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline engines::cuda {

// The loss of each row, in double precision; of the sharded form, too.
std::int64_t cross_entropy_workspace(const OpView& op, const DeviceTraits&) {
  return op.in(cross_entropy_input::kTargets).elements() * static_cast<std::int64_t>(sizeof(double));
}

}  // namespace nadi::inline engines::cuda
