#include <algorithm>

#include "nadi/engine/reference/kernel.h"

namespace nadi {

void add_kernel(KernelCall& call) {
  const std::span<const double> a = call.in(0), b = call.in(1);
  for (std::size_t i = 0; i < a.size(); ++i) call.out(0)[i] = a[i] + b[i % b.size()];
}

void dropout_kernel(KernelCall& call) {
  const std::span<const double> x = call.in(0);
  const DropoutMask mask(call.in(1), call.attributes().real("rate"), call.attributes().integer("site"));
  const std::int64_t per_sample = call.shape(0).elements(1, call.shape(0).rank());
  for (std::size_t i = 0; i < x.size(); ++i)
    call.out(0)[i] = x[i] * mask.factor(static_cast<std::int64_t>(i), per_sample);
}

void sum_rows_kernel(KernelCall& call) {
  const std::span<double> y = call.out(0);
  for (std::size_t i = 0; i < call.in(0).size(); ++i) y[i % y.size()] += call.in(0)[i];
}

void copy_kernel(KernelCall& call) {
  call.pass(0, 0);
}

// Nothing is rounded here, so the factor that turns fp8 back into values is 1.
void quantize_fp8_kernel(KernelCall& call) {
  call.pass(0, 0);
  call.out(1)[0] = 1;
}

void fill_kernel(KernelCall& call) {
  std::ranges::fill(call.out(0), call.attributes().real("value"));
}

}  // namespace nadi
