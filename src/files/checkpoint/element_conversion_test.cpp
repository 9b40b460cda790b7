#include "nadi/checkpoint/element_conversion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "nadi/base/half_for_tests.h"

namespace nadi::inline files {
namespace {

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
    convert_elements(FileDType::kF64, reinterpret_cast<const std::byte*>(&value), DType::kBF16,
                     reinterpret_cast<std::byte*>(&result), 1);
    ASSERT_EQ(static_cast<double>(from_bf16(result)), rounded_to_bf16(value)) << value;
    convert_elements(FileDType::kF64, reinterpret_cast<const std::byte*>(&value), DType::kF16,
                     reinterpret_cast<std::byte*>(&result), 1);
    ASSERT_EQ(static_cast<double>(from_f16(result)), rounded_to_f16(value)) << value;
  }
}

TEST(Convert, OnlyBetweenFloats) {
  EXPECT_TRUE(can_convert_elements(FileDType::kBF16, DType::kF16));
  EXPECT_TRUE(can_convert_elements(FileDType::kI64, DType::kI64));
  EXPECT_TRUE(can_convert_elements(FileDType::kF8E4M3, DType::kF8E4M3));
  EXPECT_FALSE(can_convert_elements(FileDType::kI64, DType::kI32));
  EXPECT_FALSE(can_convert_elements(FileDType::kI32, DType::kF32));
  EXPECT_FALSE(can_convert_elements(FileDType::kF32, DType::kF8E4M3));
  EXPECT_FALSE(can_convert_elements(FileDType::kBool, DType::kF32));
}

}  // namespace
}  // namespace nadi::inline files
