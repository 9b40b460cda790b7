// Between the floating-point types in which weights are stored, rounded as base/half.h says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nadi/base/half.h"
#include "nadi/checkpoint/file_dtype.h"

namespace nadi {

// Whether convert() can: f64, f32, bf16 and f16 to f32, bf16 and f16, anything else only to itself.
bool can_convert(FileDType from, DType to);

// `count` elements; the two must not overlap and need not be aligned.
void convert(FileDType from, const std::byte* in, DType to, std::byte* out, std::size_t count);

}  // namespace nadi
