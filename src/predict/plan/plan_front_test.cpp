#include "nadi/plan/plan_front.h"

#include <gtest/gtest.h>

#include "nadi/cluster/catalogue.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline predict {
namespace {

PlanQuestion front_question() {
  return {.config = *find_built_in_model("gpt2"), .cluster = *find_cluster("a100x1-a10x7")};
}

// `count` nodes of four A10 for 9.77 dollars an hour each.
RankedPlan front_plan(std::int32_t count, std::int64_t nanoseconds) {
  RankedPlan plan;
  plan.candidate.nodes = {{.kind = 1, .count = count, .devices = 4}};
  plan.simulated = Nanoseconds{nanoseconds};
  return plan;
}

// Money is nodes times time: 4 x 10, 3 x 12 = 36, 2 x 19 = 38 and 1 x 30.
TEST(ConfirmedFront, HasWhatNoOtherBeatsInBoth) {
  const ConfirmedFront front = confirmed_front(
      front_question(),
      {front_plan(1, 30'000), front_plan(4, 10'000), front_plan(2, 19'000), front_plan(3, 12'000)},
      [](std::int64_t, std::int64_t) { return true; });
  ASSERT_EQ(front.best.size(), 3u);
  EXPECT_EQ(front.best[0].candidate.nodes[0].count, 4);
  EXPECT_EQ(front.best[1].candidate.nodes[0].count, 3);
  EXPECT_EQ(front.best[2].candidate.nodes[0].count, 1);
  ASSERT_EQ(front.behind.size(), 1u);
  EXPECT_EQ(front.behind[0].candidate.nodes[0].count, 2);
}

TEST(ConfirmedFront, OfEqualsTheFirst) {
  const ConfirmedFront front = confirmed_front(front_question(), {front_plan(2, 5'000), front_plan(2, 5'000)},
                                               [](std::int64_t, std::int64_t) { return true; });
  EXPECT_EQ(front.best.size(), 1u);
  EXPECT_EQ(front.behind.size(), 1u);
}

}  // namespace
}  // namespace nadi::inline predict
