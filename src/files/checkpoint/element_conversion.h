// Converts elements of weights from one floating-point type to another, rounded as base/half.h says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nadi/base/half.h"
#include "nadi/graph/file_dtype.h"

namespace nadi::inline files {

// Which conversions exist: f64, f32, bf16 and f16 to f32, bf16 and f16; any other type only to itself.
bool can_convert_elements(FileDType from, DType to);

// Converts `count` elements. `in` and `out` must not overlap; they need not be aligned.
void convert_elements(FileDType from, const std::byte* in, DType to, std::byte* out, std::size_t count);

}  // namespace nadi::inline files
