#include "nadi/engine/cpu/element.h"

#include <algorithm>
#include <cstring>

#include "nadi/base/error.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace nadi::cpu {
namespace {

// One half by integers, for machines and remainders without the instruction.
float plain_half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float small = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

std::uint16_t plain_float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65520 and more
  if (magnitude < 0x38800000U) {
    // Below 2^-14 halves are multiples of 2^-24: adding 0.5 shifts the fraction there, and rounds.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}

void halves_to_floats(const std::uint16_t* source, std::int64_t count, float* target) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(target + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i))));
#endif
  for (; i < count; ++i) target[i] = plain_half_to_float(source[i]);
}

void floats_to_halves(const float* source, std::int64_t count, std::uint16_t* target) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < count; ++i) target[i] = plain_float_to_half(source[i]);
}

}  // namespace

float half_to_float(std::uint16_t bits) {
  return plain_half_to_float(bits);
}

std::uint16_t float_to_half(float value) {
  return plain_float_to_half(value);
}

void convert_to_float(const void* source, DType dtype, std::int64_t count, float* target) {
  switch (dtype) {
    case DType::kF32:
      std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::kBF16: {
      const auto* bits = static_cast<const std::uint16_t*>(source);
      for (std::int64_t i = 0; i < count; ++i) target[i] = bf16_to_float(bits[i]);
      return;
    }
    case DType::kF16:
      halves_to_floats(static_cast<const std::uint16_t*>(source), count, target);
      return;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kI32:
    case DType::kI64:
      break;
  }
  check(false, "only fp32, bf16 and fp16 elements are computed with");
}

void convert_from_float(const float* source, std::int64_t count, void* target, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::kBF16: {
      auto* bits = static_cast<std::uint16_t*>(target);
      for (std::int64_t i = 0; i < count; ++i) bits[i] = float_to_bf16(source[i]);
      return;
    }
    case DType::kF16:
      floats_to_halves(source, count, static_cast<std::uint16_t*>(target));
      return;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kI32:
    case DType::kI64:
      break;
  }
  check(false, "only fp32, bf16 and fp16 elements are computed with");
}

}  // namespace nadi::cpu
