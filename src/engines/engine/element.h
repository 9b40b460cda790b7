// Elements in memory and in registers. Kernels compute in fp32; bf16 and fp16 are how tensors are stored,
// rounded to nearest, ties to even.
//
//   float buffer[kBlock];
//   const float* x = load_row(source, dtype, n, buffer);   // the row itself when it is fp32
//   ...
//   store_row(y, n, target, dtype);
#pragma once

#include <cstddef>
#include <cstdint>

#include "nadi/graph/dtype.h"

namespace nadi::inline engines {

// Whole rows, vectorised. `dtype` is kF32, kBF16 or kF16.
void convert_to_float(const void* source, DType dtype, std::int64_t count, float* target);
void convert_from_float(const float* source, std::int64_t count, void* target, DType dtype);

// `count` elements as fp32: where they are, or converted into `buffer`.
inline const float* load_row(const void* source, DType dtype, std::int64_t count, float* buffer) {
  if (dtype == DType::kF32) return static_cast<const float*>(source);
  convert_to_float(source, dtype, count, buffer);
  return buffer;
}

// Where a kernel writes fp32 results that finish_row() brings to their place: the place itself when it is
// fp32.
inline float* target_row(void* target, DType dtype, float* buffer) {
  return dtype == DType::kF32 ? static_cast<float*>(target) : buffer;
}
inline void finish_row(const float* row, std::int64_t count, void* target, DType dtype) {
  if (dtype != DType::kF32) convert_from_float(row, count, target, dtype);
}

// Address of element `index`.
inline const std::byte* element(const void* data, DType dtype, std::int64_t index) {
  return static_cast<const std::byte*>(data) + index * size_of(dtype);
}
inline std::byte* element(void* data, DType dtype, std::int64_t index) {
  return static_cast<std::byte*>(data) + index * size_of(dtype);
}

}  // namespace nadi::inline engines
