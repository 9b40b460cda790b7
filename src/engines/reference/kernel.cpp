#include "nadi/reference/kernel.h"

#include <algorithm>

namespace nadi::inline engines {

KernelCall::KernelCall(const OpView& op) : op_(op), inputs_(op.op.inputs.size()) {
  for (std::size_t i = 0; i < op.op.outputs.size(); ++i)
    outputs_.emplace_back(op.output(i).shape.elements(), 0.0);
}

void KernelCall::pass(std::size_t i, std::size_t k) {
  std::ranges::copy(in(i), out(k).begin());
}

DropoutMask::DropoutMask(std::span<const double> random, double rate, std::int64_t site)
    : key_{.seed = static_cast<std::uint64_t>(static_cast<std::int64_t>(random[0])),
           .step = static_cast<std::uint64_t>(static_cast<std::int64_t>(random[1])),
           .site = static_cast<std::uint64_t>(site)},
      rate_(rate),
      first_sample_(static_cast<std::int64_t>(random[2])) {}

double DropoutMask::factor(std::int64_t element, std::int64_t elements_per_sample) const {
  const std::int64_t global = first_sample_ * elements_per_sample + element;
  const double number = random_uniform(key_, static_cast<std::uint64_t>(global));
  return number >= rate_ ? 1 / (1 - rate_) : 0;
}

AxisView around_axis(const Shape& shape, int axis) {
  return {.outer = shape.elements(0, axis),
          .extent = shape[axis],
          .inner = shape.elements(axis + 1, shape.rank())};
}

}  // namespace nadi::inline engines
