#include "nadi/checkpoint_inspection/element_values.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/half.h"

namespace nadi::inline files {
namespace {

// 4 bits of exponent with a bias of 7, 3 of mantissa, no infinities; all ones is NaN.
double from_e4m3(std::uint8_t bits) {
  constexpr int kBias = 7, kMantissaBits = 3;
  constexpr std::uint8_t kNotANumber = 0x7f;
  if ((bits & 0x7f) == kNotANumber) return std::numeric_limits<double>::quiet_NaN();
  const int exponent = bits >> kMantissaBits & 15, mantissa = bits & 7;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - kBias - kMantissaBits)
                    : std::ldexp(mantissa + (1 << kMantissaBits), exponent - kBias - kMantissaBits);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

template <class Stored, class Value>
void convert_each(const std::byte* in, std::span<double> out, const Value& value) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, in + i * sizeof stored, sizeof stored);
    out[i] = value(stored);
  }
}

template <class Stored>
void cast_each(const std::byte* in, std::span<double> out) {
  convert_each<Stored>(in, out, [](Stored stored) { return static_cast<double>(stored); });
}

}  // namespace

bool has_values(FileDType dtype) {
  return dtype != FileDType::kC64 && dtype != FileDType::kC128;
}

void element_values(FileDType dtype, const std::byte* in, std::span<double> out) {
  switch (dtype) {
    case FileDType::kBool:
    case FileDType::kU8:
      return cast_each<std::uint8_t>(in, out);
    case FileDType::kI8:
      return cast_each<std::int8_t>(in, out);
    case FileDType::kF8E5M2:  // the upper byte of an f16
      return convert_each<std::uint8_t>(
          in, out, [](std::uint8_t bits) { return from_f16(static_cast<std::uint16_t>(bits << 8)); });
    case FileDType::kF8E4M3:
      return convert_each<std::uint8_t>(in, out, &from_e4m3);
    case FileDType::kI16:
      return cast_each<std::int16_t>(in, out);
    case FileDType::kU16:
      return cast_each<std::uint16_t>(in, out);
    case FileDType::kF16:
      return convert_each<std::uint16_t>(in, out, [](std::uint16_t bits) { return from_f16(bits); });
    case FileDType::kBF16:
      return convert_each<std::uint16_t>(in, out, [](std::uint16_t bits) { return from_bf16(bits); });
    case FileDType::kI32:
      return cast_each<std::int32_t>(in, out);
    case FileDType::kU32:
      return cast_each<std::uint32_t>(in, out);
    case FileDType::kF32:
      return cast_each<float>(in, out);
    case FileDType::kF64:
      return cast_each<double>(in, out);
    case FileDType::kI64:
      return cast_each<std::int64_t>(in, out);
    case FileDType::kU64:
      return cast_each<std::uint64_t>(in, out);
    case FileDType::kC64:
    case FileDType::kC128:
      break;
  }
  unreachable();
}

}  // namespace nadi::inline files
