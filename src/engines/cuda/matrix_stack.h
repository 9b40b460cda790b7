// An operand of a matrix product as a stack of matrices in memory: its first `batch_axes` axes count the
// matrices, its last axis are the columns, everything between are rows (graph/ops/matmul.h).
#pragma once

#include <array>
#include <cstdint>

#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

struct MatrixStack {
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 0;
  bool regular = true;  // false means rows are not evenly spaced, and row_stride means nothing
};
MatrixStack matrix_stack(const Operand& operand, int batch_axes);

// How a library can read a stack's matrices: as they lie, or as the transpose of what lies there.
struct MatrixInPlace {
  bool possible = false;
  bool transposed = false;
  std::int64_t leading = 0;
};
MatrixInPlace in_place(const MatrixStack& stack);

// Axes of one operand, for device code: where element `i` of them, counted with the last axis fastest, is.
struct Axes {
  std::array<std::int64_t, Shape::kMaxRank> extents = {}, strides = {};
  int count = 0;
};
Axes axes_of(const Operand& operand, int first, int end);

}  // namespace nadi::inline engines::cuda
