#include "nadi/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "nadi/base/half_for_tests.h"

namespace nadi::inline ground {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Half, KnownHalves) {
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

TEST(Half, KnownBrainFloats) {
  EXPECT_EQ(to_bf16(1.0F), 0x3f80);
  EXPECT_EQ(to_bf16(1.0F + 0x1p-8F), 0x3f80);      // a tie, down to even
  EXPECT_EQ(to_bf16(1.0F + 3 * 0x1p-8F), 0x3f82);  // a tie, up to even
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_bf16(-kInfinity), 0xff80);
  // The payload of this NaN is in the half that is cut off.
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7f800001U)))));
}

TEST(Half, EveryHalfAndBrainFloatComesBack) {
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

TEST(Half, RoundsLikeThePlainVersion) {
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

}  // namespace
}  // namespace nadi::inline ground
