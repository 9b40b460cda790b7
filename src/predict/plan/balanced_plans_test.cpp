#include "nadi/plan/balanced_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "nadi/plan/plan_brute_force_for_tests.h"

namespace nadi::inline predict {
namespace {

std::int64_t slowest_stage(const PlanTables& tables, const std::vector<std::int64_t>& partition) {
  std::int64_t slowest = 0;
  for (std::size_t s = 0; s < partition.size(); ++s) {
    const auto layers = static_cast<std::size_t>(partition[s]);
    const PassTimes &forward = tables.chunks[s].forward[layers],
                    &backward = tables.chunks[s].backward[layers];
    slowest = std::max(slowest, std::max(forward.run, forward.launch).count() +
                                    std::max(backward.run, backward.launch).count());
  }
  return slowest;
}

void for_partitions(std::int64_t rest, std::size_t stages, std::vector<std::int64_t>& partition,
                    const std::function<void()>& visit) {
  if (partition.size() == stages) {
    if (rest == 0) visit();
    return;
  }
  for (std::int64_t layers = 0; layers <= rest; ++layers) {
    partition.push_back(layers);
    for_partitions(rest - layers, stages, partition, visit);
    partition.pop_back();
  }
}

TEST(BalancedPartition, HasTheFastestSlowestStageOfAllThatFit) {
  int without = 0, tight = 0;
  constexpr std::int64_t kMuch = 16'000'000'000;
  for (const std::int64_t memory :
       {kMuch, std::int64_t{45'000'000}, std::int64_t{36'000'000}, std::int64_t{28'000'000}}) {
    const PlanQuestion question = question_of(mixed_cluster({.memory = memory}), 7, 4);
    PlanEstimator estimator(question);
    for (const PlanSetting& setting : plan_settings(question, 6)) {
      if (setting.plan.virtual_stages > 1 || setting.plan.pp < 2) continue;
      const StageMakes makes =
          stage_makes(question.cluster, std::vector<std::int32_t>{1, 2},
                      {.ranks = setting.ranks_per_stage(), .tp = setting.plan.tp, .stages = setting.plan.pp});
      for (const auto& order : all_orders(makes, std::vector<std::int32_t>{1, 2}, 100)) {
        const PlanTables& tables = estimator.tables(candidate_of(setting, runs_of(makes, order)));
        std::optional<std::int64_t> best;
        std::vector<std::int64_t> tried;
        for_partitions(7, tables.stages.size(), tried, [&] {
          if (estimator.missing_memory(tables, tried).count() > 0) return;
          const std::int64_t slowest = slowest_stage(tables, tried);
          best = std::min(best.value_or(slowest), slowest);
        });
        const std::vector<std::int64_t> found = balanced_partition(tables);
        ASSERT_EQ(found.empty(), !best.has_value());
        without += found.empty() ? 1 : 0;
        if (found.empty()) continue;
        tight += memory < kMuch ? 1 : 0;
        EXPECT_EQ(std::accumulate(found.begin(), found.end(), std::int64_t{0}), 7);
        EXPECT_EQ(estimator.missing_memory(tables, found).count(), 0);
        EXPECT_EQ(slowest_stage(tables, found), *best);
      }
    }
  }
  EXPECT_GT(without, 0) << "no case without room";
  EXPECT_GT(tight, 0) << "no case with little room";
}

struct Seen {
  BalancedPlans::Found found;
  std::vector<PlanCandidate> candidates;
  std::vector<PlanEstimate> estimates;
};
Seen seen_of(const PlanQuestion& question, const std::vector<std::int32_t>& nodes,
             const std::function<bool()>& stop = {}) {
  Seen seen;
  BalancedPlans plans(question);
  seen.found = plans.run(
      nodes,
      [&](const PlanCandidate& candidate, const PlanEstimate& estimate) {
        seen.candidates.push_back(candidate);
        seen.estimates.push_back(estimate);
      },
      stop);
  return seen;
}

TEST(BalancedPlans, TakeAllNodesAndHaveTheEstimatesOfTheirCandidates) {
  const PlanQuestion question = question_of(mixed_cluster({}), 6, 4);
  const Seen seen = seen_of(question, {1, 2});
  ASSERT_FALSE(seen.candidates.empty());
  EXPECT_EQ(seen.found.evaluated, std::ssize(seen.candidates));
  PlanEstimator estimator(question);
  std::optional<Nanoseconds> fastest;
  for (std::size_t i = 0; i < seen.candidates.size(); ++i) {
    std::vector<std::int32_t> used(2);
    for (const NodeRun& run : seen.candidates[i].nodes) used[static_cast<std::size_t>(run.kind)] += run.count;
    EXPECT_EQ(used, (std::vector<std::int32_t>{1, 2}));
    const PlanEstimate estimate = estimator.of(seen.candidates[i]);
    EXPECT_EQ(seen.estimates[i].iteration, estimate.iteration);
    EXPECT_EQ(seen.estimates[i].missing_memory, estimate.missing_memory);
    EXPECT_EQ(seen.estimates[i].dollars_per_step, estimate.dollars_per_step);
    for (std::size_t s = 0; s < estimate.stages.size(); ++s)
      EXPECT_EQ(seen.estimates[i].stages[s].memory, estimate.stages[s].memory);
    if (estimate.fits()) fastest = std::min(fastest.value_or(estimate.iteration), estimate.iteration);
  }
  ASSERT_TRUE(seen.found.fastest && fastest);
  EXPECT_EQ(seen.found.fastest->estimate.iteration, *fastest);
}

TEST(BalancedPlans, AreNoneWhereNothingFitsAndEndWhenTheyAreStopped) {
  const Seen none = seen_of(question_of(mixed_cluster({.memory = 1'000'000}), 6, 4), {1, 2});
  EXPECT_EQ(none.found.evaluated, 0);
  EXPECT_FALSE(none.found.fastest);
  const PlanQuestion question = question_of(mixed_cluster({}), 6, 4);
  int asked = 0;
  const Seen whole = seen_of(question, {1, 2}, [&] { return ++asked < 0; });
  int left = asked / 2;
  const Seen part = seen_of(question, {1, 2}, [&] { return left-- == 0; });
  EXPECT_GT(part.found.evaluated, 0);
  EXPECT_LT(part.found.evaluated, whole.found.evaluated);
}

}  // namespace
}  // namespace nadi::inline predict
