// Makes a strided view contiguous. Elements move as they are, whatever their type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/graph/shape.h"

namespace nadi::inline engines::cpu {

struct StridedCopy {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  const Shape& shape;
  std::span<const std::int64_t> strides;  // of the source, in elements, one per axis
  std::int64_t element_size = 4;          // 1, 2, 4 or 8
};
void strided_copy(const StridedCopy& copy, int threads);

}  // namespace nadi::inline engines::cpu
