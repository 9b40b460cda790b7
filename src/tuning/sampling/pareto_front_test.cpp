#include "nadi/sampling/pareto_front.h"

#include <gmock/gmock.h>

#include <cmath>

#include "nadi/sampling/counted_random.h"
#include "nadi/sampling/trial_history.h"

namespace nadi::inline tuning {
namespace {

using testing::ElementsAre;

TEST(ParetoFront, OfTwoObjectives) {
  // (1,4) and (2,2) are on it, twice (2,2); (3,3) is behind (2,2), (4,4) behind (3,3).
  const std::vector<std::vector<double>> points{{4, 4}, {1, 4}, {2, 2}, {3, 3}, {2, 2}};
  EXPECT_THAT(pareto_front(points), ElementsAre(1, 2, 4));
  EXPECT_THAT(pareto_ranks(points, points.size()), ElementsAre(2, 0, 0, 1, 0));
}

TEST(ParetoFront, AgreesWithTheDefinitionInTwoToFourObjectives) {
  CountedRandom random(3, 0, "front");
  for (std::size_t objectives = 1; objectives <= 4; ++objectives) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::vector<double>> points(30, std::vector<double>(objectives));
      for (auto& point : points)
        for (double& value : point) value = static_cast<double>(random.below(6));
      std::vector<std::size_t> expected;
      for (std::size_t i = 0; i < points.size(); ++i) {
        bool beaten = false;
        for (const auto& other : points) beaten = beaten || dominates(other, points[i]);
        if (!beaten) expected.push_back(i);
      }
      EXPECT_EQ(pareto_front(points), expected);
    }
  }
}

TEST(ParetoFront, Hypervolume) {
  // (1,3) and (2,1) below (4,4): 3 * 1 + 2 * 3 less the common 2 * 1 = 7.
  EXPECT_DOUBLE_EQ(hypervolume({{1, 3}, {2, 1}, {5, 0}}, {4, 4}), 7);
  EXPECT_DOUBLE_EQ(hypervolume({{1, 1, 1}}, {2, 3, 4}), 6);
}

TEST(TrialHistory, TheBestAreFeasible) {
  TrialHistory history{.maximize = {true}};
  history.trials = {{.number = 0, .outcome = TrialOutcome::kComplete, .values = {5}, .constraints = {0.5}},
                    {.number = 1, .outcome = TrialOutcome::kComplete, .values = {3}, .constraints = {-1}},
                    {.number = 2, .outcome = TrialOutcome::kComplete, .values = {4}, .constraints = {0}},
                    {.number = 3, .outcome = TrialOutcome::kFailed},
                    {.number = 4, .outcome = TrialOutcome::kPruned, .intermediate = {{1, 9.0}}}};
  EXPECT_THAT(best_trials(history), ElementsAre(2));
  EXPECT_THAT(trials_by_merit(history), ElementsAre(2, 1, 4, 0));
}

TEST(TrialHistory, APrunedTrialIsNoBetterThanTheMedian) {
  TrialHistory history;
  for (const double value : {1.0, 2.0, 3.0})
    history.trials.push_back({.outcome = TrialOutcome::kComplete, .values = {value}});
  history.trials.push_back({.outcome = TrialOutcome::kPruned, .intermediate = {{1, 0.5}}});
  history.trials.push_back({.outcome = TrialOutcome::kPruned, .intermediate = {{1, 7.0}}});
  history.trials.push_back({.outcome = TrialOutcome::kPruned});
  const auto merits = merit_values(history);
  EXPECT_EQ(merits[3], 2.0);
  EXPECT_EQ(merits[4], 7.0);
  EXPECT_FALSE(merits[5].has_value());  // it told nothing: as good as failed
}

}  // namespace
}  // namespace nadi::inline tuning
