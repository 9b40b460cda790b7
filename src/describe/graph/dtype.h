// Element types of tensors.
#pragma once

#include <cstdint>
#include <string_view>

namespace nadi::inline describe {

enum class DType : std::uint8_t {
  kF32,
  kBF16,
  kF16,
  kF8E4M3,  // fp8 for values: 4 exponent bits, 3 of mantissa, largest 448
  kF8E5M2,  // fp8 for gradients: 5 exponent bits, 2 of mantissa, largest 57344
  kI32,
  kI64,
};

std::int64_t size_of(DType dtype);        // in bytes
std::string_view to_string(DType dtype);  // "f32", "bf16", "f16", "f8e4m3", "f8e5m2", "i32", "i64"
bool is_floating(DType dtype);
bool is_fp8(DType dtype);

}  // namespace nadi::inline describe
