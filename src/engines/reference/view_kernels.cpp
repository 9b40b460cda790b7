// Views of memory, as copies; and concat. Reshape is a plain copy.
#include <algorithm>

#include "nadi/reference/kernel.h"

namespace nadi::inline engines {

// Axis i of the result is axis axes[i] of x.
void permute_kernel(KernelCall& call) {
  const Shape& from = call.shape(0);
  const Shape& to = call.op().output(0).shape;
  const Integers& axes = call.attributes().integers("axes");
  for (std::int64_t element = 0; element < to.elements(); ++element) {
    // Take the index along each axis off the element's number, innermost first.
    std::int64_t rest = element, source = 0;
    for (int i = to.rank() - 1; i >= 0; --i) {
      const int axis = static_cast<int>(axes[i]);
      source += rest % to[i] * from.elements(axis + 1, from.rank());
      rest /= to[i];
    }
    call.out(0)[element] = call.in(0)[source];
  }
}

void split_kernel(KernelCall& call) {
  const AxisView whole = around_axis(call.shape(0), static_cast<int>(call.attributes().integer("axis")));
  const Integers& extents = call.attributes().integers("extents");
  std::int64_t first = 0;
  for (std::size_t part = 0; part < extents.size(); ++part) {
    const std::int64_t run = extents[part] * whole.inner;
    for (std::int64_t o = 0; o < whole.outer; ++o)
      std::ranges::copy(call.in(0).subspan((o * whole.extent + first) * whole.inner, run),
                        call.out(part).begin() + o * run);
    first += extents[part];
  }
}

void concat_kernel(KernelCall& call) {
  const int axis = static_cast<int>(call.attributes().integer("axis"));
  const AxisView whole = around_axis(call.op().output(0).shape, axis);
  std::int64_t first = 0;
  for (std::size_t part = 0; part < call.op().op.inputs.size(); ++part) {
    const std::int64_t run = call.shape(part)[axis] * whole.inner;
    for (std::int64_t o = 0; o < whole.outer; ++o)
      std::ranges::copy(call.in(part).subspan(o * run, run),
                        call.out(0).begin() + (o * whole.extent + first) * whole.inner);
    first += call.shape(part)[axis];
  }
}

}  // namespace nadi::inline engines
