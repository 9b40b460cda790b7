// Copies of tensors on the device between any two layouts, with a change of the element type and addition to
// what is there where asked for.
//
//   strided_copy(call, {.from = x.data, .from_dtype = x.dtype(), .from_strides = ..., .to = ...,
//                       .shape = x.shape()});
//
// Axes that lie one behind the other in both layouts are seen as one, and elements of the same type move in
// the largest units, up to 16 bytes, that all addresses and strides are multiples of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

struct StridedCopy {
  const std::byte* from = nullptr;
  DType from_dtype = DType::kF32;
  std::span<const std::int64_t> from_strides;  // in elements, one per axis of the shape; 0 repeats
  std::byte* to = nullptr;
  DType to_dtype = DType::kF32;
  std::span<const std::int64_t> to_strides;
  Shape shape;
  bool accumulate = false;
};
// Integers are copied only to the same type, and not added. The two places must not overlap.
void strided_copy(const KernelCall& call, const StridedCopy& copy);
void strided_copy(cudaStream_t stream, const StridedCopy& copy);  // of no op

}  // namespace nadi::inline engines::cuda
