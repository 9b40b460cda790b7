#include "nadi/checkpoint_inspection/element_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace nadi::inline files {
namespace {

using testing::ElementsAre;

template <class Stored>
std::vector<double> values_of(FileDType dtype, const std::vector<Stored>& stored) {
  std::vector<std::byte> bytes(stored.size() * sizeof(Stored) + 1);
  std::memcpy(bytes.data() + 1, stored.data(), stored.size() * sizeof(Stored));  // not aligned
  std::vector<double> values(stored.size());
  element_values(dtype, bytes.data() + 1, values);
  return values;
}

TEST(ElementValues, OfEveryKindOfType) {
  EXPECT_THAT(values_of<std::uint8_t>(FileDType::kBool, {0, 1}), ElementsAre(0, 1));
  EXPECT_THAT(values_of<std::int8_t>(FileDType::kI8, {-128, 127}), ElementsAre(-128, 127));
  EXPECT_THAT(values_of<std::uint16_t>(FileDType::kU16, {65535}), ElementsAre(65535));
  EXPECT_THAT(values_of<std::int64_t>(FileDType::kI64, {-5, std::int64_t{1} << 53}),
              ElementsAre(-5, 9007199254740992.0));
  EXPECT_THAT(values_of<std::uint16_t>(FileDType::kBF16, {0x3f80, 0xc000}), ElementsAre(1, -2));
  EXPECT_THAT(values_of<std::uint16_t>(FileDType::kF16, {0x3c00, 0xfbff}), ElementsAre(1, -65504));
  EXPECT_THAT(values_of<float>(FileDType::kF32, {0.1F}), ElementsAre(static_cast<double>(0.1F)));
  EXPECT_THAT(values_of<double>(FileDType::kF64, {0.1}), ElementsAre(0.1));
  EXPECT_FALSE(has_values(FileDType::kC64));
}

// The values of the OCP's table: smallest subnormal, smallest normal, largest.
TEST(ElementValues, OfEightBits) {
  EXPECT_THAT(values_of<std::uint8_t>(FileDType::kF8E4M3, {0x01, 0x08, 0x38, 0x7e, 0xb8, 0x80}),
              ElementsAre(std::ldexp(1, -9), std::ldexp(1, -6), 1, 448, -1, 0));
  EXPECT_TRUE(std::isnan(values_of<std::uint8_t>(FileDType::kF8E4M3, {0x7f})[0]));
  EXPECT_THAT(values_of<std::uint8_t>(FileDType::kF8E5M2, {0x01, 0x04, 0x3c, 0x7b, 0x7c}),
              ElementsAre(std::ldexp(1, -16), std::ldexp(1, -14), 1, 57344, INFINITY));
}

}  // namespace
}  // namespace nadi::inline files
