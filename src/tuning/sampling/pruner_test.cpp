#include "nadi/sampling/pruner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nadi/base/error.h"

namespace nadi::inline tuning {
namespace {

TrialHistory history_of(const std::vector<std::vector<double>>& complete,
                        const std::vector<double>& running) {
  TrialHistory history;
  const auto add = [&](const std::vector<double>& reports, TrialOutcome outcome) {
    ObservedTrial trial{.number = static_cast<std::int64_t>(history.trials.size()), .outcome = outcome};
    for (std::size_t i = 0; i < reports.size(); ++i)
      trial.intermediate.emplace_back(static_cast<std::int64_t>(i) + 1, reports[i]);
    history.trials.push_back(std::move(trial));
  };
  for (const auto& reports : complete) add(reports, TrialOutcome::kComplete);
  add(running, TrialOutcome::kRunning);
  return history;
}

bool stops(const PrunerSettings& settings, const TrialHistory& history) {
  return make_pruner(settings)->stop(history, history.trials.size() - 1).has_value();
}

TEST(Pruner, MedianComparesTheBestSoFarWithOthersAtTheStep) {
  // At step 2 the others have 1, 2, 3, 4 means the median is 2.5.
  const std::vector<std::vector<double>> others{{5, 1}, {5, 2}, {5, 3}, {5, 4}};
  const PrunerSettings median{.name = "median", .startup_trials = 4};
  EXPECT_FALSE(stops(median, history_of(others, {9, 2.5})));
  EXPECT_TRUE(stops(median, history_of(others, {9, 2.6})));
  EXPECT_FALSE(stops(median, history_of(others, {2, 2.6})));  // its best is 2
  EXPECT_FALSE(stops({.name = "median", .startup_trials = 5}, history_of(others, {9, 9})));
  EXPECT_FALSE(stops({.name = "median", .startup_trials = 4, .warmup_steps = 3}, history_of(others, {9, 9})));
  EXPECT_FALSE(stops({.name = "median", .startup_trials = 4, .least_trials = 5}, history_of(others, {9, 9})));
  EXPECT_TRUE(stops(median, history_of(others, {NAN, NAN})));
  EXPECT_FALSE(stops(median, history_of(others, {9, 9, 9})));  // nobody came to step 3
  TrialHistory maximized = history_of(others, {0, 2.4});
  maximized.maximize = {true};
  EXPECT_TRUE(stops(median, maximized));
}

TEST(Pruner, PercentileKeepsTheBestOnes) {
  // The lower quarter of 1, 2, 3, 4, 5 is 2.
  const std::vector<std::vector<double>> others{{1}, {2}, {3}, {4}, {5}};
  EXPECT_FALSE(stops({.name = "percentile", .percentile = 25}, history_of(others, {2})));
  EXPECT_TRUE(stops({.name = "percentile", .percentile = 25}, history_of(others, {2.1})));
}

TEST(Pruner, IntervalsHaveOneVerdict) {
  const std::vector<std::vector<double>> others(5, {1, 1, 1, 1});
  const PrunerSettings settings{.name = "median", .interval_steps = 3};
  EXPECT_TRUE(stops(settings, history_of(others, {2})));        // step 1, in the interval from 0
  EXPECT_FALSE(stops(settings, history_of(others, {2, 2})));    // step 2, in the same
  EXPECT_TRUE(stops(settings, history_of(others, {2, 2, 2})));  // step 3 begins one
}

TEST(Pruner, HalvingLetsOneInFourPass) {
  // Rungs at steps 1, 4, 16. Of four at step 1 one passes: the best.
  const std::vector<std::vector<double>> others{{1}, {2}, {3}};
  const PrunerSettings halving{.name = "successive-halving"};
  EXPECT_TRUE(stops(halving, history_of(others, {1.5})));
  EXPECT_FALSE(stops(halving, history_of(others, {0.5})));
  EXPECT_FALSE(stops(halving, history_of({}, {9})));         // the first of all
  EXPECT_FALSE(stops(halving, history_of(others, {9, 9})));  // step 2 is no rung
  EXPECT_FALSE(stops({.name = "successive-halving", .early_stopping_rate = 1}, history_of(others, {9})));
  EXPECT_TRUE(stops({.name = "successive-halving", .reduction = 2}, history_of({{1}, {2}, {3}}, {2.5})));
  EXPECT_FALSE(stops({.name = "successive-halving", .reduction = 2}, history_of({{1}, {2}, {3}}, {1.5})));
}

TEST(Pruner, HyperbandPutsTrialsIntoBrackets) {
  // Steps 1 to 9 by 3: brackets with rates 0, 1, 2. Every bad trial is stopped at one of the steps 1, 3, 9.
  const PrunerSettings settings{.name = "hyperband", .most_steps = 9, .reduction = 3};
  std::vector<int> stopped(10, 0);
  for (int number = 0; number < 60; ++number) {
    for (int step : {1, 2, 3, 9}) {
      TrialHistory history;
      for (int i = 0; i < 60; ++i) {
        ObservedTrial trial{.number = i, .outcome = TrialOutcome::kComplete};
        for (int s = 1; s <= (i == number ? step : 9); ++s)
          trial.intermediate.emplace_back(s, i == number ? 9.0 : 1.0);
        history.trials.push_back(trial);
      }
      if (make_pruner(settings)->stop(history, static_cast<std::size_t>(number)))
        ++stopped[static_cast<std::size_t>(step)];
    }
  }
  EXPECT_GT(stopped[1], 0);
  EXPECT_EQ(stopped[2], 0);
  EXPECT_GT(stopped[3], stopped[1]);  // those of bracket 0 would be stopped again
  EXPECT_EQ(stopped[9], 60);
}

TEST(Pruner, ThresholdAndPatience) {
  EXPECT_TRUE(stops({.name = "threshold", .upper = 5.0}, history_of({}, {6})));
  EXPECT_FALSE(stops({.name = "threshold", .upper = 5.0}, history_of({}, {5})));
  EXPECT_TRUE(stops({.name = "threshold", .lower = 1.0}, history_of({}, {0.5})));
  EXPECT_TRUE(stops({.name = "threshold", .lower = 1.0}, history_of({}, {NAN})));
  EXPECT_THROW(make_pruner({.name = "threshold"}), Error);
  // Best 1 at the first report, then three without an improvement.
  EXPECT_FALSE(stops({.name = "patience", .patience = 2}, history_of({}, {1, 2, 2})));
  EXPECT_TRUE(stops({.name = "patience", .patience = 2}, history_of({}, {1, 2, 2, 2})));
  EXPECT_FALSE(stops({.name = "patience", .patience = 2}, history_of({}, {1, 2, 2, 0.9})));
  EXPECT_FALSE(stops({.name = "patience", .patience = 1}, history_of({}, {1, NAN, NAN})));
  EXPECT_TRUE(stops({.name = "patience", .patience = 1}, history_of({}, {1, NAN, INFINITY})));
  EXPECT_FALSE(stops({.name = "patience", .patience = 2, .least_change = 2}, history_of({}, {1, 2, 2, 2})));
}

TEST(Pruner, SettingsSurviveTheirText) {
  const PrunerSettings settings{
      .name = "threshold", .startup_trials = 7, .percentile = 30, .lower = -1.5, .patience = 3};
  EXPECT_EQ(parse_pruner_settings(pruner_settings_text(settings), "study"), settings);
  for (const char* text : {R"({"name": "medain"})", R"({"pruner": "median"})", R"({"interval_steps": 0})",
                           R"({"percentile": 101})", "[]", "{"})
    EXPECT_THROW(parse_pruner_settings(text, "study"), Error) << text;
  EXPECT_THROW(make_pruner({.name = "medain"}), Error);
  EXPECT_THROW(make_pruner({.name = "hyperband", .reduction = 1}), Error);
  for (const PrunerDescription& pruner : pruner_descriptions()) {
    PrunerSettings made{.name = std::string(pruner.name)};
    made.upper = 1;
    EXPECT_FALSE(make_pruner(made)->stop(history_of({}, {}), 0).has_value());
  }
}

}  // namespace
}  // namespace nadi::inline tuning
