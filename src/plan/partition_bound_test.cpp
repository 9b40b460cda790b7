#include "nadi/plan/partition_bound.h"

#include <gtest/gtest.h>

#include "nadi/plan/partition_for_tests.h"

namespace nadi {
namespace {

std::int64_t bound_of_pipeline(const PartitionProblem& problem, std::span<const std::int32_t> kinds,
                               std::span<const std::int64_t> layers) {
  const std::vector<PartitionSend> sends = sends_of(problem, kinds);
  const std::int64_t last = problem.shape.stages - 1;
  const auto cost = [&](std::int64_t s) {
    return problem.cost(s, kinds[static_cast<std::size_t>(s)], layers[static_cast<std::size_t>(s)]);
  };
  PathBound bound = last_stage(problem.shape, cost(last));
  for (std::int64_t s = last - 1; s >= 0; --s)
    bound = with_stage_before(problem.shape, bound, cost(s), sends[static_cast<std::size_t>(s)], s);
  return bound.total();
}

TEST(PartitionBound, IsNeverAboveTheLatency) {
  std::mt19937 random(1);
  std::int64_t pipelines = 0, equal = 0;
  for (int i = 0; i < 3000; ++i) {
    const PartitionProblem problem = random_partition_problem(
        random, {.most_stages = 5, .most_layers = 4, .most_micro_batches = 14, .most_kinds = 2});
    every_partition(problem, [&](std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers) {
      const std::int64_t latency = reference_of(problem, kinds, layers);
      const std::int64_t bound = bound_of_pipeline(problem, kinds, layers);
      ASSERT_LE(bound, latency) << "problem " << i;
      ++pipelines;
      equal += bound == latency;
    });
  }
  EXPECT_GT(pipelines, 10'000);
  EXPECT_GT(equal, pipelines / 3) << "of " << pipelines;
}

// The last stage and the message decide where all stages are alike.
TEST(PartitionBound, OfEqualStagesIsTheirLatency) {
  for (const ScheduleKind schedule : {ScheduleKind::k1F1B, ScheduleKind::kGPipe})
    for (const std::int64_t send : {0, 7, 40})
      for (const std::int64_t micro_batches : {1, 3, 8, 21}) {
        const PipelineShape shape{.schedule = schedule, .stages = 4, .micro_batches = micro_batches};
        const PartitionCosts costs{.forward = 10, .backward = 20, .forward_after = 10, .backward_after = 20};
        PathBound bound = last_stage(shape, costs);
        for (std::int64_t s = 2; s >= 0; --s) bound = with_stage_before(shape, bound, costs, {send, send}, s);
        const std::int64_t latency = reference_latency(shape, std::vector<PartitionCosts>(4, costs),
                                                       std::vector<PartitionSend>(3, {send, send}));
        EXPECT_LE(bound.total(), latency);
        if (send == 0) {
          EXPECT_EQ(bound.total(), latency) << micro_batches;
          EXPECT_EQ(latency, (micro_batches + 3) * 30);
        } else {
          EXPECT_GE(static_cast<double>(bound.total()), 0.98 * static_cast<double>(latency)) << micro_batches;
        }
      }
}

}  // namespace
}  // namespace nadi
