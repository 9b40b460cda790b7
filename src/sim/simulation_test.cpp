#include "nadi/sim/simulation.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/sim/cluster_for_tests.h"

namespace nadi {
namespace {

StagePrograms small_step(const Plan& plan, std::int64_t layers = 4) {
  return {tiny_model(Architecture::kGpt2, layers),
          {.kind = StepKind::kTrain, .batch_size = plan.micro_batches, .seq_length = 8},
          plan};
}

TEST(Simulation, OneRankComputesWithoutAGap) {
  const SimulationResult result = simulate_step(small_step({}), cluster_for_tests(1, 1));
  ASSERT_EQ(result.classes.size(), 1u);
  EXPECT_GT(result.iteration_time, Nanoseconds{});
  EXPECT_EQ(result.classes[0].breakdown.computed(), result.iteration_time);
  EXPECT_EQ(result.classes[0].breakdown.bubble, Nanoseconds{});
}

TEST(Simulation, PartsOfTheTimeAddUpOnEveryRank) {
  const Plan plan{.tp = 2, .dp = 2, .pp = 2, .micro_batches = 3};
  const SimulationResult result = simulate_step(small_step(plan), cluster_for_tests(2, 4));
  EXPECT_EQ(result.ranks, 8);
  EXPECT_LT(result.classes.size(), 8u);
  for (const SimulatedClass& one : result.classes) {
    const RankBreakdown& parts = one.breakdown;
    EXPECT_EQ(parts.computed() + parts.exposed() + parts.bubble, result.iteration_time);
  }
}

TEST(Simulation, MergingRanksChangesNothing) {
  const Plan plan{.tp = 2, .dp = 2, .pp = 2, .micro_batches = 3};
  const Cluster cluster = cluster_for_tests(2, 4);
  const SimulationResult merged = simulate_step(small_step(plan), cluster);
  const SimulationResult each = simulate_step(small_step(plan), cluster, {.symmetry = false});
  EXPECT_EQ(each.classes.size(), 8u);
  EXPECT_EQ(merged.iteration_time, each.iteration_time);
  for (std::int32_t r = 0; r < 8; ++r) {
    EXPECT_EQ(merged.class_of(Rank{r}).nodes, each.class_of(Rank{r}).nodes) << "rank " << r;
    EXPECT_EQ(merged.class_of(Rank{r}).breakdown, each.class_of(Rank{r}).breakdown) << "rank " << r;
  }
}

TEST(Simulation, TooFewDevicesAreInfeasible) {
  try {
    simulate_step(small_step({.dp = 8}), cluster_for_tests(1, 4));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInfeasible);
    EXPECT_STREQ(error.what(), "the plan needs 8 ranks; cluster 'test' has 4 devices");
  }
}

}  // namespace
}  // namespace nadi
