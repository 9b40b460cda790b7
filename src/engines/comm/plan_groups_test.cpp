#include "nadi/comm/plan_groups.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/comm/mpi_world_for_tests.h"

namespace nadi::inline engines {
namespace {

std::int64_t own() {
  return to_number(test_world().rank());
}

// Tensor parallelism in pairs, the rest a pipeline: with 8 ranks, 6's partner is 7, and its pipeline is
// 0, 2, 4, 6.
TEST(PlanGroups, are_those_of_the_plan) {
  const std::int64_t ranks = test_world().size();
  if (ranks % 2 != 0) GTEST_SKIP() << "an odd number of ranks";
  const PlanGroups groups(test_world(), {.tp = 2, .pp = ranks / 2});
  EXPECT_EQ(groups.place("tp"), own() % 2);
  EXPECT_EQ(groups.place("pp"), own() / 2);
  EXPECT_EQ(groups.place("dp"), 0);
  EXPECT_EQ(groups.members("tp"), (std::vector<Rank>{Rank{static_cast<std::int32_t>(own() / 2 * 2)},
                                                     Rank{static_cast<std::int32_t>(own() / 2 * 2 + 1)}}));
  EXPECT_EQ(sum_over(groups.group("tp"), own()), own() / 2 * 4 + 1);
  // 0 + 2 + ... + ranks - 2 is twice the sum of 0 .. ranks/2 - 1; odd ranks have one more each.
  const std::int64_t stages = ranks / 2;
  EXPECT_EQ(sum_over(groups.group("pp"), own()), stages * (stages - 1) + own() % 2 * stages);
  EXPECT_EQ(sum_over(groups.group("mp"), own()), ranks * (ranks - 1) / 2);
  EXPECT_EQ(sum_over(groups.group("dp"), own()), own());
  const bool at_an_end = own() / 2 == 0 || own() / 2 == stages - 1;
  if (at_an_end) {
    // The first stage's rank and the last one's.
    const std::int64_t sum = stages == 1 ? own() : own() % 2 * 2 + ranks - 2;
    EXPECT_EQ(sum_over(groups.group("embedding"), own()), sum);
  }
}

TEST(PlanGroups, need_as_many_ranks_as_the_plan_has) {
  try {
    const PlanGroups groups(test_world(), {.dp = 3 * test_world().size()});
    FAIL() << "three times as many ranks were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace nadi::inline engines
