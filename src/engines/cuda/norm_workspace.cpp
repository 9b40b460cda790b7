#include "nadi/cuda/column_sums_plan.h"
#include "nadi/cuda/kernel_needs.h"
#include "nadi/cuda/norm_plan.h"

namespace nadi::inline engines::cuda {

std::int64_t norm_grad_workspace(const OpView& op, const DeviceTraits& traits) {
  const std::int64_t columns = op.in(0)[-1];
  return columns == 0 ? 0 : NormTeams::workspace(op.in(0).elements() / columns, columns, traits);
}

std::int64_t sum_rows_workspace(const OpView& op, const DeviceTraits& traits) {
  const std::int64_t columns = op.output(0).shape.elements();
  return columns == 0 ? 0 : ColumnSumsPlan(op.in(0).elements() / columns, columns, traits).workspace();
}

}  // namespace nadi::inline engines::cuda
