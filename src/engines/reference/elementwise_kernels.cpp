#include <algorithm>

#include "nadi/reference/kernel.h"

namespace nadi::inline engines {

void add_kernel(KernelCall& call) {
  const std::span<const double> a = call.in(0), b = call.in(1);
  for (std::size_t i = 0; i < a.size(); ++i) call.out(0)[i] = a[i] + b[i % b.size()];
}

void dropout_kernel(KernelCall& call) {
  const std::span<const double> x = call.in(0);
  const DropoutMask mask(call.in(1), call.attributes().real("rate"), call.attributes().integer("site"));
  const Shape& shape = call.shape(0);
  const std::int64_t rows = shape.rank() > 1 ? shape[1] : 1;
  const std::int64_t width = shape.rank() > 1 ? shape.elements(2, shape.rank()) : 1;
  const std::int64_t whole_rows = call.has(2) ? call.attributes().integer("whole_rows") : rows;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::int64_t row = i / width % rows, sample = i / width / rows;
    const std::int64_t whole_row = call.has(2) ? call.integer(2, row) : row;
    const std::int64_t element = (sample * whole_rows + whole_row) * width + i % width;
    call.out(0)[i] = x[i] * mask.factor(element, whole_rows * width);
  }
}

void sum_rows_kernel(KernelCall& call) {
  const std::span<double> y = call.out(0);
  for (std::size_t i = 0; i < call.in(0).size(); ++i) y[i % y.size()] += call.in(0)[i];
}

// A bucket's collective has as many outputs as inputs.
void copy_kernel(KernelCall& call) {
  for (std::size_t i = 0; i < call.output_count(); ++i) call.pass(i, i);
}

// Nothing is rounded here, so the factor that turns fp8 back into values is 1.
void quantize_fp8_kernel(KernelCall& call) {
  call.pass(0, 0);
  call.out(1)[0] = 1;
}

void fill_kernel(KernelCall& call) {
  std::ranges::fill(call.out(0), call.attributes().real("value"));
}

}  // namespace nadi::inline engines
