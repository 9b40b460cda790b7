#include "nadi/cuda/matrix_stack.h"

namespace nadi::inline engines::cuda {
namespace {

// Operands without strides are contiguous.
std::int64_t stride_of_axis(const Operand& operand, int axis) {
  const Shape& shape = operand.shape();
  return operand.strides.empty() ? shape.elements(axis + 1, shape.rank()) : operand.strides[axis];
}

}  // namespace

MatrixStack matrix_stack(const Operand& operand, int batch_axes) {
  const Shape& shape = operand.shape();
  MatrixStack stack{.rows = shape.elements(batch_axes, shape.rank() - 1), .columns = shape[-1]};
  stack.column_stride = stack.columns == 1 ? 1 : stride_of_axis(operand, shape.rank() - 1);
  // Row axes fall into one when each is as long as the step of the next outer one.
  std::int64_t spanned = 1;
  for (int axis = shape.rank() - 2; axis >= batch_axes; --axis) {
    if (shape[axis] == 1) continue;
    if (spanned == 1)
      stack.row_stride = stride_of_axis(operand, axis);
    else if (stride_of_axis(operand, axis) != stack.row_stride * spanned)
      stack.regular = false;
    spanned *= shape[axis];
  }
  if (stack.rows == 1) stack.row_stride = stack.columns * stack.column_stride;
  return stack;
}

MatrixInPlace in_place(const MatrixStack& stack) {
  if (!stack.regular) return {};
  if (stack.column_stride == 1 && stack.row_stride >= stack.columns)
    return {.possible = true, .leading = stack.row_stride};
  if ((stack.row_stride == 1 || stack.rows == 1) && stack.column_stride >= stack.rows)
    return {.possible = true, .transposed = true, .leading = stack.column_stride};
  return {};
}

Axes axes_of(const Operand& operand, int first, int end) {
  Axes axes;
  for (int axis = first; axis < end; ++axis) {
    if (operand.shape()[axis] == 1) continue;
    axes.extents[axes.count] = operand.shape()[axis];
    axes.strides[axes.count] = stride_of_axis(operand, axis);
    ++axes.count;
  }
  return axes;
}

}  // namespace nadi::inline engines::cuda
