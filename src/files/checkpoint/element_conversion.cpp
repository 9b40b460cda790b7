#include "nadi/checkpoint/element_conversion.h"

#include <cmath>
#include <cstring>

#include "nadi/base/error.h"

namespace nadi::inline files {
namespace {

static_assert(std::endian::native == std::endian::little, "files of weights are little-endian");

// Storage and arithmetic of an element type: load() to f32 and store() from it.
struct F32 {
  using Storage = float;
  static float load(Storage value) { return value; }
  static Storage store(float value) { return value; }
};
struct Bf16 {
  using Storage = std::uint16_t;
  static float load(Storage value) { return from_bf16(value); }
  static Storage store(float value) { return to_bf16(value); }
};
struct F16 {
  using Storage = std::uint16_t;
  static float load(Storage value) { return from_f16(value); }
  static Storage store(float value) { return to_f16(value); }
};
struct F64 {
  using Storage = double;
  static float load(Storage value) { return static_cast<float>(value); }
};
// Rounding to f32 and then again to 16 bits could round twice in the same direction. Rounding to odd first
// (cut off, and set the last bit if anything was lost) keeps the second rounding right, since f32 has more
// than two bits more.
struct F64ToBeRoundedAgain {
  using Storage = double;
  static float load(Storage value) {
    const float nearest = static_cast<float>(value);
    if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
    const bool away_from_zero = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(nearest) - (away_from_zero ? 1 : 0)) | 1);
  }
};

template <typename From, typename To>
void convert_each(const std::byte* in, std::byte* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    typename From::Storage value;
    std::memcpy(&value, in + i * sizeof(value), sizeof(value));
    const typename To::Storage result = To::store(From::load(value));
    std::memcpy(out + i * sizeof(result), &result, sizeof(result));
  }
}

template <typename To>
void convert_from(FileDType from, const std::byte* in, std::byte* out, std::size_t count) {
  if (from == FileDType::kF32) return convert_each<F32, To>(in, out, count);
  if (from == FileDType::kBF16) return convert_each<Bf16, To>(in, out, count);
  if (from == FileDType::kF16) return convert_each<F16, To>(in, out, count);
  if constexpr (std::is_same_v<To, F32>) return convert_each<F64, To>(in, out, count);
  convert_each<F64ToBeRoundedAgain, To>(in, out, count);
}

}  // namespace

bool can_convert_elements(FileDType from, DType to) {
  if (from == file_dtype(to)) return true;
  const bool known_source = from == FileDType::kF64 || from == FileDType::kF32 || from == FileDType::kBF16 ||
                            from == FileDType::kF16;
  return known_source && is_floating(to) && !is_fp8(to);
}

void convert_elements(FileDType from, const std::byte* in, DType to, std::byte* out, std::size_t count) {
  check(can_convert_elements(from, to), "there is no conversion between these element types");
  if (from == file_dtype(to)) {
    std::memcpy(out, in, count * static_cast<std::size_t>(size_of(to)));
  } else if (to == DType::kF32) {
    convert_from<F32>(from, in, out, count);
  } else if (to == DType::kBF16) {
    convert_from<Bf16>(from, in, out, count);
  } else {
    convert_from<F16>(from, in, out, count);
  }
}

}  // namespace nadi::inline files
