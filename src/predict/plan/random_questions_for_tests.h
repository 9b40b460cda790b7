// Random questions whose searches are compared with every plan of their space (plan_brute_force_for_tests.h).
//
//   expect_best_of_random_cases({.cases = 20, .most = 1'500}, seed);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "nadi/base/format.h"
#include "nadi/plan/plan_brute_force_for_tests.h"
#include "nadi/sim/framework.h"

namespace nadi::inline predict {

// Nodes of one or two kinds with the same or other numbers of devices, fast or slow networks, much or little
// memory, and some of the knobs.
inline PlanQuestion random_question(std::mt19937& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto number = [&](std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(draw(low, high));
  };
  MixedNodes mixed{.fast = number(0, 2), .slow = number(0, 3)};
  mixed.fast = std::max(mixed.fast, mixed.slow == 0 ? 1 : 0);
  mixed.fast_devices = number(1, 4);
  mixed.slow_devices = draw(0, 1) == 0 ? mixed.fast_devices : number(1, 4);
  if (draw(0, 2) == 0) mixed.memory = draw(25, 60) * 1'000'000;
  Cluster cluster = mixed_cluster(mixed);
  if (draw(0, 1) == 0)
    for (ClusterLevel& level : cluster.levels)
      level.fabric.bandwidth = ByteRate{level.fabric.bandwidth.per_second() / 20};
  PlanQuestion question = question_of(cluster, draw(2, 7), draw(0, 1) == 0 ? 4 : draw(1, 3) * 2);
  PlanSpace& space = question.space;
  if (draw(0, 1) == 0) space.schedules = {ScheduleKind::k1F1B};
  if (draw(0, 3) == 0) space.schedules = {ScheduleKind::k1F1B, ScheduleKind::kInterleaved};
  if (draw(0, 1) == 0) space.zero_stages = {draw(0, 1)};
  if (draw(0, 1) == 0) space.sequence_parallel = {draw(0, 1) == 0};
  if (draw(0, 1) == 0) space.recompute = {{}};
  if (draw(0, 3) == 0) question.request.fused_attention = false;
  space.unused_devices = true;
  if (draw(0, 2) == 0) {
    const Framework& framework =
        frameworks()[static_cast<std::size_t>(draw(1, std::ssize(frameworks()) - 1))];
    question.framework = framework.name;
    question.overlap = framework.overlap;
    question.request.layout = framework.layout;
    // Buckets of a few layers here, too.
    if (framework.layout.rule == BucketRule::kMegatron)
      question.request.layout.bucket_elements = draw(0, 3) * 50'000;
  }
  return question;
}

inline void expect_equal(const PlanQuestion& question, const PlanSpaceFigures& figures,
                         const std::string& what) {
  const double best = figures.best(question);
  const PlanAnswer answer = search_plans(question, {.top = 2, .confirmed = 1});
  if (answer.plans.empty() || best == std::numeric_limits<double>::infinity()) {
    EXPECT_EQ(answer.plans.empty(), best == std::numeric_limits<double>::infinity()) << what;
    return;
  }
  const double found = best_estimate(question, answer);
  if (figures.spreads) {
    // Layers that are moved from chunk to chunk may be better than all that is spread.
    EXPECT_LE(found, best * (1 + 1e-12)) << what;
  } else {
    EXPECT_NEAR(found, best, 1e-12 * best) << what;
    EXPECT_NEAR(answer.lower_bound, best, 1e-12 * best) << what;
  }
  EXPECT_EQ(answer.gap, 0) << what;
}

// Time, money and memory, without limits and with some that leave out a part of the plans.
inline void expect_best_of_all(const PlanQuestion& question, std::mt19937& random, const std::string& what) {
  const PlanSpaceFigures figures = figures_of_every_plan(question);
  const auto ask = [&](PlanObjective objective, const PlanLimits& limits, const char* name) {
    PlanQuestion asked = question;
    asked.objective = objective;
    asked.limits = limits;
    expect_equal(asked, figures,
                 format("{}: {}, {} plans, {} fit, {}", what, question.framework, figures.plans,
                        figures.fitting.size(), name));
  };
  ask(PlanObjective::kTime, {}, "time");
  ask(PlanObjective::kCost, {}, "cost");
  ask(PlanObjective::kMemory, {}, "memory");
  if (figures.fitting.empty()) return;
  // Limits that some plan just keeps to.
  const auto some = [&]() -> const PlanSpaceFigures::Figures& {
    return figures.fitting[std::uniform_int_distribution<std::size_t>(0, figures.fitting.size() - 1)(random)];
  };
  const double tokens = static_cast<double>(question.global_batch_size * question.request.seq_length);
  const PlanLimits deadline{.step_time = Nanoseconds{std::llround(some().seconds * 1e9)}};
  const PlanLimits budget{.dollars_per_million_tokens = some().dollars / tokens * 1e6 * (1 + 1e-9)};
  ask(PlanObjective::kCost, deadline, "cost by a deadline");
  ask(PlanObjective::kTime, budget, "time within a budget");
  ask(PlanObjective::kMemory, deadline, "memory by a deadline");
  ask(PlanObjective::kMemory, budget, "memory within a budget");
}

struct BruteForceCases {
  int cases = 0;
  std::int64_t fewest = 1, most = 100'000;  // plans
  std::optional<std::int64_t> few_partitions =
      {};  // as PlanSpace has it; then only cases where layers are spread
};
inline void expect_best_of_random_cases(const BruteForceCases& sizes, unsigned seed) {
  std::mt19937 random(seed);
  std::int64_t plans = 0;
  for (int found = 0, tried = 0; found < sizes.cases; ++tried) {
    ASSERT_LT(tried, 100 * sizes.cases) << "such cases are rare";
    PlanQuestion question = random_question(random);
    if (sizes.few_partitions) question.space.few_partitions = *sizes.few_partitions;
    const auto [count, spreads] = count_plans(question, sizes.most + 1);
    if (count < sizes.fewest || count > sizes.most || (sizes.few_partitions && !spreads)) continue;
    ++found;
    plans += count;
    expect_best_of_all(question, random, format("case {} of seed {}", tried, seed));
    if (testing::Test::HasFailure()) return;
  }
  testing::Test::RecordProperty("plans", std::to_string(plans));
}

}  // namespace nadi::inline predict
