#include "nadi/plan/plan_front.h"

#include <gtest/gtest.h>

#include <random>

namespace nadi {
namespace {

PlanEstimate front_estimate(std::int64_t time, std::optional<double> dollars) {
  PlanEstimate estimate;
  estimate.iteration = Nanoseconds{time};
  estimate.dollars_per_step = dollars;
  return estimate;
}

std::vector<std::pair<std::int64_t, double>> figures_of(const std::vector<RankedPlan>& plans) {
  std::vector<std::pair<std::int64_t, double>> figures;
  for (const RankedPlan& plan : plans)
    figures.emplace_back(plan.estimate.iteration.count(), *plan.estimate.dollars_per_step);
  return figures;
}

using Figures = std::vector<std::pair<std::int64_t, double>>;

TEST(PlanFront, KeepsWhatNoOtherBeatsInBoth) {
  PlanFront front({}, 1000);
  for (const auto& [time, dollars] :
       Figures{{10, 5.0}, {20, 3.0}, {15, 6.0}, {12, 4.0}, {30, 3.0}, {12, 4.0}})
    front.add({}, front_estimate(time, dollars));
  EXPECT_EQ(figures_of(front.best()), (Figures{{10, 5.0}, {12, 4.0}, {20, 3.0}}));
  // One that is as fast and cheaper takes the place of the other, and one that beats all remains alone.
  front.add({}, front_estimate(10, 4.5));
  EXPECT_EQ(figures_of(front.best()), (Figures{{10, 4.5}, {12, 4.0}, {20, 3.0}}));
  front.add({}, front_estimate(9, 1.0));
  EXPECT_EQ(figures_of(front.best()), (Figures{{9, 1.0}}));
  EXPECT_EQ(front.taken(), 8);
}

TEST(PlanFront, TakesOnlyWhatFitsAndHasAPrice) {
  PlanFront front({}, 1000);
  PlanEstimate large = front_estimate(1, 1.0);
  large.missing_memory = Bytes{1};
  front.add({}, large);
  front.add({}, front_estimate(1, std::nullopt));
  EXPECT_TRUE(front.best().empty());
  EXPECT_EQ(front.without_price(), 1);
}

// 5 dollars for a million tokens are 0.005 dollars for a step of 1,000 tokens.
TEST(PlanFront, KeepsToLimits) {
  PlanFront front({.dollars_per_million_tokens = 5.0, .step_time = Nanoseconds{100}}, 1000);
  front.add({}, front_estimate(90, 0.006));
  front.add({}, front_estimate(110, 0.001));
  front.add({}, front_estimate(100, 0.005));
  EXPECT_EQ(figures_of(front.best()), (Figures{{100, 0.005}}));
}

TEST(PlanFront, IsThatOfAllPairsAndBounded) {
  std::mt19937 random(7);
  PlanFront front({}, 1000);
  Figures all;
  for (int i = 0; i < 20'000; ++i) {
    const auto time = static_cast<std::int64_t>(random() % 1'000'000) + 1;
    const double dollars = static_cast<double>(random() % 1'000'000 + 1) * 1e-6;
    all.emplace_back(time, dollars);
    front.add({}, front_estimate(time, dollars));
  }
  Figures expected;
  std::ranges::sort(all);
  for (const auto& each : all)
    if (expected.empty() || each.second < expected.back().second) expected.push_back(each);
  EXPECT_EQ(figures_of(front.best()), expected);
  EXPECT_LE(front.behind().size(), PlanFront::kMostBehind);
  EXPECT_GT(front.behind().size(), PlanFront::kMostBehind / 8);
}

}  // namespace
}  // namespace nadi
