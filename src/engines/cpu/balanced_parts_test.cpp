#include "nadi/cpu/balanced_parts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nadi::inline engines::cpu {
namespace {

// Costs 1 2 3 4 5 5: the sum is 20, and the first four are half of it.
TEST(BalancedPart, SharesOutByCost) {
  const auto cost = [](std::int64_t unit) { return std::min<std::int64_t>(unit + 1, 5); };
  const UnitRange low = balanced_part(6, {.part = 0, .parts = 2}, cost);
  const UnitRange high = balanced_part(6, {.part = 1, .parts = 2}, cost);
  EXPECT_EQ(low.first, 0);
  EXPECT_EQ(low.end, 4);
  EXPECT_EQ(high.first, 4);
  EXPECT_EQ(high.end, 6);
}

TEST(BalancedPart, CoversEverythingOnce) {
  for (const std::int64_t units : {1, 2, 7, 48})
    for (const std::int64_t parts : {1, 2, 3, 16}) {
      std::int64_t next = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const UnitRange range = balanced_part(units, {.part = part, .parts = parts},
                                              [](std::int64_t unit) { return 1 + unit % 5; });
        EXPECT_EQ(range.first, next);
        EXPECT_GE(range.end, range.first);
        next = range.end;
      }
      EXPECT_EQ(next, units);
    }
}

}  // namespace
}  // namespace nadi::inline engines::cpu
