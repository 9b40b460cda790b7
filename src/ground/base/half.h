// The two 16-bit floating-point types, one number at a time. Rounds to nearest, ties to even, as PyTorch
// does; values beyond the largest become infinite, and NaN stays NaN.
//
// Layouts, sign first: f32 has 8 bits of exponent and 23 of mantissa, bf16 8 and 7 (the upper half of an
// f32), f16 5 and 10, with 15 added to the exponent. Independent of the processor's treatment of subnormal
// numbers: no subnormal f32 is computed with.
#pragma once

#include <bit>
#include <cstdint>

namespace nadi::inline ground {

inline float from_bf16(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;  // a carry goes into the exponent
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40;
  return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet_nan : rounded);
}

inline float from_f16(std::uint16_t value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value & 0x8000) << 16;
  const std::uint32_t magnitude = value & 0x7fff;
  const std::uint32_t normal = (magnitude << 13) + ((127 - 15) << 23);
  const std::uint32_t not_finite = (magnitude << 13) | 0x7f800000;
  // Below 2^-14 the value is mantissa * 2^-24, which is what the last bits of 0.5 + value stand for.
  const float half_more = std::bit_cast<float>(magnitude | 0x3f000000);
  const auto subnormal = std::bit_cast<std::uint32_t>(half_more - 0.5F);
  const std::uint32_t bits = magnitude < 0x400 ? subnormal : magnitude >= 0x7c00 ? not_finite : normal;
  return std::bit_cast<float>(sign | bits);
}

inline std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  // From 65520 on the carry makes it infinite.
  const std::uint32_t normal = (magnitude - ((127 - 15) << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // Below 2^-14: adding 0.5, whose last bit is 2^-24, rounds as wanted.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000;
  const std::uint32_t not_finite = magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x3ff) : 0x7c00;
  const std::uint32_t half = magnitude < 0x38800000    ? subnormal
                             : magnitude >= 0x47800000 ? not_finite
                                                       : normal;
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace nadi::inline ground
