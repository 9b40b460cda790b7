#include "nadi/engine/element.h"

#include <algorithm>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/half.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace nadi::inline engines {
namespace {

void halves_to_floats(const std::uint16_t* source, std::int64_t count, float* target) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(target + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i))));
#endif
  for (; i < count; ++i) target[i] = from_f16(source[i]);
}

void floats_to_halves(const float* source, std::int64_t count, std::uint16_t* target) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < count; ++i) target[i] = to_f16(source[i]);
}

}  // namespace

void convert_to_float(const void* source, DType dtype, std::int64_t count, float* target) {
  switch (dtype) {
    case DType::kF32:
      std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::kBF16: {
      const auto* bits = static_cast<const std::uint16_t*>(source);
      for (std::int64_t i = 0; i < count; ++i) target[i] = from_bf16(bits[i]);
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
      for (std::int64_t i = 0; i < count; ++i) bits[i] = to_bf16(source[i]);
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

}  // namespace nadi::inline engines
