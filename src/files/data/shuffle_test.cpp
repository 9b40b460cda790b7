#include "nadi/data/shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Shuffle, SmallCounts) {
  EXPECT_THAT(shuffled_order(0, {}), IsEmpty());
  EXPECT_THAT(shuffled_order(1, {}), ElementsAre(0));
  EXPECT_THAT(natural_order(3), ElementsAre(0, 1, 2));
}

TEST(Shuffle, EveryNumberOnceInAnOrderOfTheKey) {
  const RandomKey key{.seed = 5, .step = 2, .site = 3};
  std::vector<std::uint32_t> order = shuffled_order(1000, key);
  EXPECT_EQ(order, shuffled_order(1000, key));
  EXPECT_NE(order, shuffled_order(1000, {.seed = 6, .step = 2, .site = 3}));
  EXPECT_NE(order, shuffled_order(1000, {.seed = 5, .step = 3, .site = 3}));
  EXPECT_NE(order, natural_order(1000));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, natural_order(1000));
}

TEST(Shuffle, EveryOrderIsEquallyLikely) {
  // 3! = 6 orders in 6000 draws: 1000 each, with a standard deviation of sqrt(6000 * 1/6 * 5/6) = 29.
  std::map<std::vector<std::uint32_t>, int> counts;
  for (std::uint64_t step = 0; step < 6000; ++step) ++counts[shuffled_order(3, {.seed = 1, .step = step})];
  ASSERT_EQ(counts.size(), 6U);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 5 * 29) << testing::PrintToString(order);
}

}  // namespace
}  // namespace nadi::inline files
