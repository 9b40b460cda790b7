#include "nadi/checkpoint/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace nadi {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The plain version: a number with `bits` of mantissa and smallest exponent `lowest` is a whole multiple of
// its last place, so divide, round to a whole number with ties to even, and multiply. Exact in double.
double rounded(double value, int bits, int lowest, double limit) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), lowest);
  const double last_place = std::ldexp(1.0, exponent - bits);
  const double result = std::nearbyint(value / last_place) * last_place;
  return std::fabs(result) >= limit ? std::copysign(kInfinity, value) : result;
}
double rounded_to_f16(double value) {
  return rounded(value, 10, -14, 65536);
}
double rounded_to_bf16(double value) {
  return rounded(value, 7, -126, 0x1p128);
}

TEST(Convert, KnownHalves) {
  EXPECT_EQ(to_f16(1.0F), 0x3c00);  // exponent 0 + 15 = 15: 01111 0000000000
  EXPECT_EQ(to_f16(-2.0F), 0xc000);
  EXPECT_EQ(to_f16(65504.0F), 0x7bff);                      // the largest
  EXPECT_EQ(to_f16(std::nextafterf(65520.0F, 0)), 0x7bff);  // 65520 is half-way to 65536
  EXPECT_EQ(to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(to_f16(0x1p-24F), 0x0001);  // the smallest
  EXPECT_EQ(to_f16(0x1p-25F), 0x0000);  // half of it: to even
  EXPECT_EQ(to_f16(std::nextafterf(0x1p-25F, 1)), 0x0001);
  EXPECT_EQ(to_f16(-0.0F), 0x8000);
  EXPECT_EQ(to_f16(1.0F + 0x1p-11F), 0x3c00);      // a tie, down to even
  EXPECT_EQ(to_f16(1.0F + 3 * 0x1p-11F), 0x3c02);  // a tie, up to even
  EXPECT_EQ(to_f16(-kInfinity), 0xfc00);
  EXPECT_TRUE(std::isnan(from_f16(to_f16(std::nanf("")))));
}

TEST(Convert, KnownBrainFloats) {
  EXPECT_EQ(to_bf16(1.0F), 0x3f80);
  EXPECT_EQ(to_bf16(1.0F + 0x1p-8F), 0x3f80);      // a tie, down to even
  EXPECT_EQ(to_bf16(1.0F + 3 * 0x1p-8F), 0x3f82);  // a tie, up to even
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_bf16(-kInfinity), 0xff80);
  // The payload of this NaN is in the half that is cut off.
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7f800001U)))));
}

TEST(Convert, EveryHalfAndBrainFloatComesBack) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    if (std::isnan(from_f16(bits))) {
      EXPECT_GT(bits & 0x7fff, 0x7c00);
    } else {
      ASSERT_EQ(to_f16(from_f16(bits)), bits);
    }
    if (std::isnan(from_bf16(bits))) continue;
    ASSERT_EQ(to_bf16(from_bf16(bits)), bits);
  }
}

TEST(Convert, RoundsLikeThePlainVersion) {
  std::mt19937 random(1);
  for (int i = 0; i < 300'000; ++i) {
    // Every third keeps few bits, so that ties come up.
    const auto bits = static_cast<std::uint32_t>(random()) & (i % 3 == 0 ? 0xfffff000U : 0xffffffffU);
    float value = std::bit_cast<float>(bits);
    if (i % 2 == 0)
      value = std::copysign(std::ldexp(1.0F + static_cast<float>(bits % 8192) / 8192, bits % 48 - 30), value);
    if (std::isnan(value)) continue;
    ASSERT_EQ(static_cast<double>(from_f16(to_f16(value))), rounded_to_f16(value)) << value;
    ASSERT_EQ(static_cast<double>(from_bf16(to_bf16(value))), rounded_to_bf16(value)) << value;
  }
}

TEST(Convert, DoublesAreRoundedOnce) {
  // Just above the middle between 1 and the next bf16, by less than an f32 can say. Rounding to f32 first
  // would give the middle itself, and then 1.
  std::vector<double> values{1 + 0x1p-8 + 0x1p-40,
                             1 + 0x1p-11 + 0x1p-40,
                             -1 - 0x1p-8 - 0x1p-40,
                             1e300,
                             -1e300,
                             65519.999999999,
                             0x1p-25 + 0x1p-70,
                             0.1,
                             -0.0,
                             1.5};
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) values.push_back(std::ldexp(static_cast<double>(random() | 1), -70));
  for (const double value : values) {
    std::uint16_t result = 0;
    convert(FileDType::kF64, reinterpret_cast<const std::byte*>(&value), DType::kBF16,
            reinterpret_cast<std::byte*>(&result), 1);
    ASSERT_EQ(static_cast<double>(from_bf16(result)), rounded_to_bf16(value)) << value;
    convert(FileDType::kF64, reinterpret_cast<const std::byte*>(&value), DType::kF16,
            reinterpret_cast<std::byte*>(&result), 1);
    ASSERT_EQ(static_cast<double>(from_f16(result)), rounded_to_f16(value)) << value;
  }
}

TEST(Convert, OnlyBetweenFloats) {
  EXPECT_TRUE(can_convert(FileDType::kBF16, DType::kF16));
  EXPECT_TRUE(can_convert(FileDType::kI64, DType::kI64));
  EXPECT_TRUE(can_convert(FileDType::kF8E4M3, DType::kF8E4M3));
  EXPECT_FALSE(can_convert(FileDType::kI64, DType::kI32));
  EXPECT_FALSE(can_convert(FileDType::kI32, DType::kF32));
  EXPECT_FALSE(can_convert(FileDType::kF32, DType::kF8E4M3));
  EXPECT_FALSE(can_convert(FileDType::kBool, DType::kF32));
}

}  // namespace
}  // namespace nadi
