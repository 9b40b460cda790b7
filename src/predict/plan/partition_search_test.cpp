#include "nadi/plan/partition_search.h"

#include <gtest/gtest.h>

#include "nadi/plan/partition_for_tests.h"

namespace nadi::inline predict {
namespace {

std::int64_t best_of_all(const StagesProblem& problem) {
  std::int64_t best = kNeverEnds;
  every_partition(problem, [&](std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers) {
    best = std::min(best, reference_of(problem, kinds, layers));
  });
  return best;
}

void use_reference(StagesProblem& problem) {
  problem.exact = [&problem](std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers) {
    return reference_of(problem, kinds, layers);
  };
}

TEST(PartitionSearch, FindsWhatTryingEveryPartitionFinds) {
  std::mt19937 random(2);
  int solved = 0, impossible = 0;
  for (int i = 0; i < 400; ++i) {
    StagesProblem problem = random_partition_problem(random, {});
    problem.after_tails = i % 3 * 10;
    use_reference(problem);
    const std::int64_t best = best_of_all(problem);
    // Labels that are merged bound less, but the answer is the same.
    const PartitionAnswer answer = problem.solve({.labels = i % 2 == 0 ? 16u : 2u});
    ASSERT_EQ(answer.found(), best < kNeverEnds) << "problem " << i;
    ASSERT_EQ(answer.nanoseconds, best) << "problem " << i;
    ASSERT_EQ(answer.lower_bound, best) << "problem " << i;
    if (!answer.found()) {
      ++impossible;
      continue;
    }
    ++solved;
    EXPECT_EQ(reference_of(problem, answer.kinds, answer.layers), best);
    const PartitionAnswer no_better = problem.solve({.better_than = best});
    EXPECT_FALSE(no_better.found());
    EXPECT_GE(no_better.lower_bound, best);
    EXPECT_EQ(problem.solve({.better_than = best + 1}).nanoseconds, best);
  }
  EXPECT_GT(solved, 200);
  EXPECT_GT(impossible, 10);
}

// Equally slow stages, other latency: the long stage belongs to the front, where less waits for it.
TEST(PartitionSearch, MinimisesLatencyAndNotTheSlowestStageAlone) {
  StagesProblem problem;
  problem.shape = {.stages = 4, .micro_batches = 4};
  problem.layers = 5;
  problem.kinds = {{}};
  for (int s = 0; s < 4; ++s)
    for (int l = 0; l <= 5; ++l)
      problem.costs.push_back(
          {.forward = 10 * l, .backward = 20 * l, .forward_after = 10 * l, .backward_after = 20 * l});
  problem.most_layers.assign(4, 5);
  use_reference(problem);
  const PartitionAnswer answer = problem.solve({});
  EXPECT_EQ(answer.nanoseconds, best_of_all(problem));
  EXPECT_EQ(answer.layers, (std::vector<std::int64_t>{2, 1, 1, 1}));
  EXPECT_LT(answer.nanoseconds,
            reference_of(problem, std::vector<std::int32_t>(4), std::vector<std::int64_t>{1, 1, 1, 2}));
}

TEST(PartitionSearch, SaysHowFarItMayBeFromTheBestWhenItsEffortIsSpent) {
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    StagesProblem problem = random_partition_problem(random, {});
    use_reference(problem);
    const std::int64_t best = best_of_all(problem);
    const PartitionAnswer answer = problem.solve({.work = 0, .labels = 1});
    ASSERT_LE(answer.lower_bound, best);
    EXPECT_GE(answer.nanoseconds, best);
  }
}

// Who stops at once learns nothing, and is told nothing wrong.
TEST(PartitionSearch, StopsWhereverItIs) {
  std::mt19937 random(5);
  for (int i = 0; i < 50; ++i) {
    StagesProblem problem = random_partition_problem(random, {});
    use_reference(problem);
    const std::int64_t best = best_of_all(problem);
    if (best == kNeverEnds) continue;
    for (const std::int64_t better_than : {kNeverEnds, best + 1}) {
      const PartitionAnswer answer = problem.solve({.better_than = better_than, .stop = [] { return true; }});
      EXPECT_LE(answer.lower_bound, best);
      EXPECT_GE(answer.nanoseconds, best);
    }
  }
}

TEST(PartitionSearch, GivesTheSlowDeviceFewerLayers) {
  StagesProblem problem;
  problem.shape = {.stages = 2, .micro_batches = 8};
  problem.layers = 9;
  problem.kinds = {{.nodes = {1, 0}}, {.nodes = {0, 1}}};
  problem.nodes = {1, 1};
  for (int s = 0; s < 2; ++s)
    for (int k = 0; k < 2; ++k)
      for (int l = 0; l <= 9; ++l) {
        const std::int64_t layer = k == 0 ? 10 : 20;
        problem.costs.push_back({.forward = layer * l,
                                 .backward = 2 * layer * l,
                                 .forward_after = layer * l,
                                 .backward_after = 2 * layer * l});
      }
  problem.most_layers.assign(4, 9);
  problem.send_between.assign(4, {});
  use_reference(problem);
  const PartitionAnswer answer = problem.solve({});
  EXPECT_EQ(answer.nanoseconds, best_of_all(problem));
  std::vector<std::int64_t> of_kind(2);
  for (std::size_t s = 0; s < 2; ++s) of_kind[static_cast<std::size_t>(answer.kinds[s])] = answer.layers[s];
  EXPECT_EQ(of_kind, (std::vector<std::int64_t>{6, 3}));
}

}  // namespace
}  // namespace nadi::inline predict
