#include "nadi/base/units.h"

#include <gtest/gtest.h>

#include <limits>

#include "nadi/base/error.h"

namespace nadi::inline ground {
namespace {

TEST(Units, PrintsBytesInPowersOf1024) {
  EXPECT_EQ(to_string(Bytes{1023}), "1023 B");
  EXPECT_EQ(to_string(Bytes{1536}), "1.50 KiB");  // 1.5 * 1024
  EXPECT_EQ(to_string(Bytes{1024 * 1024}), "1.00 MiB");
  EXPECT_EQ(to_string(80_GiB), "80.0 GiB");
}

TEST(Units, PrintsFlopsInPowersOf1000) {
  EXPECT_EQ(to_string(Flops{999}), "999 FLOP");
  EXPECT_EQ(to_string(Flops{347'892'350'976}), "348 GFLOP");
  EXPECT_EQ(to_string(Flops{999'999}), "1.00 MFLOP");  // rounds up into the next prefix
}

TEST(Units, GroupsDigits) {
  EXPECT_EQ(with_thousands(124439808), "124,439,808");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(-1000), "-1,000");
}

TEST(Units, OverflowIsAnErrorNotAWrongFigure) {
  const Bytes most{std::numeric_limits<std::int64_t>::max()};
  EXPECT_THROW(most + 1_B, Error);
  EXPECT_THROW(most * 2, Error);
  EXPECT_THROW(checked_multiply(std::int64_t{1} << 40, std::int64_t{1} << 40, "elements"), Error);
}

}  // namespace
}  // namespace nadi::inline ground
