#include "nadi/cuda/sample_workspace.h"

#include "nadi/cuda/kernel_needs.h"

namespace nadi::inline engines::cuda {

std::int64_t argmax_workspace(const OpView& op, const DeviceTraits& traits) {
  return ArgmaxPlan(op, traits).bytes();
}

std::int64_t sample_workspace(const OpView& op, const DeviceTraits&) {
  return SamplePlan(op).bytes();
}

}  // namespace nadi::inline engines::cuda
