#include "nadi/base/parse_duration.h"

#include <gtest/gtest.h>

namespace nadi::inline ground {
namespace {

TEST(ParseDuration, NumbersWithUnits) {
  EXPECT_EQ(parse_duration("250ns"), Nanoseconds{250});
  EXPECT_EQ(parse_duration("10 us"), Nanoseconds{10'000});
  EXPECT_EQ(parse_duration("1.5ms"), Nanoseconds{1'500'000});
  EXPECT_EQ(parse_duration("2s"), Nanoseconds{2'000'000'000});
  EXPECT_EQ(parse_duration("3min"), Nanoseconds{180'000'000'000});
  EXPECT_EQ(parse_duration("0"), Nanoseconds{0});
  EXPECT_EQ(parse_duration("0.4ns"), Nanoseconds{0});
}

TEST(ParseDuration, Mistakes) {
  for (const char* text :
       {"", "5", "ms", "-1ms", "1.5", "1h", "1e300s", "nan s", "inf ms", "1ms ", "0x1ms", "-0s"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

}  // namespace
}  // namespace nadi::inline ground
