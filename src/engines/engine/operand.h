// A tensor in memory of a device, as kernels and communication are given it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/graph/tensor.h"

namespace nadi::inline engines {

// `strides` are in elements, one per axis.
struct Operand {
  // nullptr where an optional input is absent, and for a value that never leaves a fused kernel.
  std::byte* data = nullptr;
  const Tensor* tensor = nullptr;  // nullptr means absent
  std::span<const std::int64_t> strides = {};
  // On a GPU, of a variable that is a matrix: rows behind its last that belong to it. Behind parameters they
  // are zeros; behind gradients they may be written.
  std::int64_t spare_rows = 0;

  DType dtype() const { return tensor->dtype; }
  const Shape& shape() const { return tensor->shape; }
  std::int64_t elements() const { return tensor->shape.elements(); }
  std::int64_t bytes() const { return tensor->size().count(); }

  // As a matrix: the last axis are its columns, all others its rows. A GPU may have padded rows in memory
  // (cuda/padded_rows.h): its kernels go from row to row by row_stride() elements.
  std::int64_t columns() const { return shape().rank() == 0 ? 1 : shape()[shape().rank() - 1]; }
  std::int64_t rows() const { return elements() / columns(); }
  std::int64_t row_stride() const { return strides.size() < 2 ? columns() : strides[strides.size() - 2]; }
};

}  // namespace nadi::inline engines
