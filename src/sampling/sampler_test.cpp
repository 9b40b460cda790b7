#include "nadi/sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "nadi/base/error.h"
#include "nadi/sampling/halton.h"

namespace nadi {
namespace {

SearchSpace mixed_space() {
  SearchSpace space;
  space.parameters = {choice_parameter("kind", 3), float_parameter("rate", 1e-4, 1, ParameterScale::kLog),
                      int_parameter("layers", 0, 12, ParameterScale::kLinear, 3),
                      float_parameter("share", 0, 1, ParameterScale::kLinear, 0.25),
                      int_parameter("batch", 1, 64, ParameterScale::kLog)};
  space.parameters[2].active = [](std::span<const double> point) { return point[0] != 1; };
  space.allowed = [](std::span<const double> point) { return !(point[0] == 2 && point[4] > 32); };
  return space;
}

double mixed_value(const std::vector<double>& p) {
  return std::abs(std::log10(p[1]) + 2) + (p[0] == 0 ? 0 : 1) + (std::isnan(p[2]) ? 0 : p[2] / 12) +
         std::abs(p[3] - 0.5) + std::abs(std::log2(p[4]) - 4) / 3;
}

TrialHistory run_study(const TrialSampler& sampler, int trials) {
  TrialHistory history;
  for (int number = 0; number < trials; ++number) {
    const auto point = sampler.suggest(history, number);
    if (!point) break;
    ObservedTrial trial{.number = number,
                        .outcome = TrialOutcome::kComplete,
                        .point = *point,
                        .values = {mixed_value(*point)}};
    if (number % 7 == 3) trial = {.number = number, .outcome = TrialOutcome::kFailed, .point = *point};
    if (number % 7 == 5)
      trial = {
          .number = number, .outcome = TrialOutcome::kPruned, .point = *point, .intermediate = {{1, 3.0}}};
    if (number % 7 == 6) trial = {.number = number, .outcome = TrialOutcome::kRunning, .point = *point};
    history.trials.push_back(std::move(trial));
  }
  return history;
}

TEST(Sampler, EverySamplerGivesValidPointsAndTheSameOnesAgain) {
  for (const SamplerDescription& description : sampler_descriptions()) {
    if (description.name == "grid") continue;  // needs steps
    const SearchSpace space = mixed_space();
    const auto sampler = make_sampler({.name = std::string(description.name), .seed = 4}, space);
    const TrialHistory first = run_study(*sampler, 40);
    ASSERT_EQ(first.trials.size(), 40U);
    for (const ObservedTrial& trial : first.trials) EXPECT_TRUE(space.valid(trial.point)) << description.name;
    const TrialHistory again =
        run_study(*make_sampler({.name = std::string(description.name), .seed = 4}, space), 40);
    for (std::size_t i = 0; i < 40; ++i)
      EXPECT_TRUE(same_point(first.trials[i].point, again.trials[i].point)) << description.name << " " << i;
    const TrialHistory other =
        run_study(*make_sampler({.name = std::string(description.name), .seed = 5}, space), 40);
    EXPECT_FALSE(same_point(first.trials[0].point, other.trials[0].point)) << description.name;
  }
}

TEST(Sampler, FiniteSpacesAreExhaustedOnce) {
  SearchSpace space;
  space.parameters = {choice_parameter("a", 3), int_parameter("b", 1, 4), choice_parameter("c", 2)};
  space.allowed = [](std::span<const double> point) { return point[0] != point[1]; };  // 24 - 2 * 2 = 20
  for (const SamplerDescription& description : sampler_descriptions()) {
    const auto sampler = make_sampler({.name = std::string(description.name), .seed = 1}, space);
    TrialHistory history;
    std::set<std::vector<double>> seen;
    for (int number = 0; number < 20; ++number) {
      const auto point = sampler->suggest(history, number);
      ASSERT_TRUE(point.has_value()) << description.name << " " << number;
      EXPECT_TRUE(seen.insert(*point).second) << description.name;
      history.trials.push_back(
          {.number = number, .outcome = TrialOutcome::kComplete, .point = *point, .values = {(*point)[1]}});
    }
    EXPECT_FALSE(sampler->suggest(history, 20).has_value()) << description.name;
  }
}

TEST(Sampler, TheDefaultIsBetterThanRandomWithConstraints) {
  // The least of x + y where x y >= 0.25: 1, at x = y = 0.5.
  SearchSpace space;
  space.parameters = {float_parameter("x", 0, 1), float_parameter("y", 0, 1)};
  const auto best_of = [&](const std::string& name) {
    const auto sampler = make_sampler({.name = name, .seed = 2}, space);
    TrialHistory history;
    for (int number = 0; number < 40; ++number) {
      const std::vector<double> p = *sampler->suggest(history, number);
      history.trials.push_back({.number = number,
                                .outcome = TrialOutcome::kComplete,
                                .point = p,
                                .values = {p[0] + p[1]},
                                .constraints = {0.25 - p[0] * p[1]}});
    }
    return history.trials[best_trials(history).front()].values[0];
  };
  EXPECT_LT(best_of("auto"), 1.01);
  EXPECT_GT(best_of("random"), 1.01);
}

TEST(Sampler, TheDefaultFindsTheEdgeOfWhatFails) {
  // Everything above x = 0.5 fails; the value falls with x.
  SearchSpace space;
  space.parameters = {float_parameter("x", 0, 1), float_parameter("y", 0, 1)};
  const auto sampler = make_sampler({.seed = 1}, space);
  TrialHistory history;
  for (int number = 0; number < 40; ++number) {
    const std::vector<double> p = *sampler->suggest(history, number);
    const bool fails = p[0] > 0.5;
    history.trials.push_back({.number = number,
                              .outcome = fails ? TrialOutcome::kFailed : TrialOutcome::kComplete,
                              .point = p,
                              .values = fails ? std::vector<double>{} : std::vector<double>{-p[0]}});
  }
  EXPECT_LT(history.trials[best_trials(history).front()].values[0], -0.48);
}

TEST(Sampler, TheDefaultFillsTheFrontOfTwoObjectives) {
  // x^2 and (x - 1)^2 over x, with y in both: the front is y = 0.
  SearchSpace space;
  space.parameters = {float_parameter("x", -1, 2), float_parameter("y", 0, 1)};
  const auto sampler = make_sampler({.seed = 1}, space);
  TrialHistory history{.maximize = {false, false}};
  for (int number = 0; number < 50; ++number) {
    const std::vector<double> p = *sampler->suggest(history, number);
    history.trials.push_back({.number = number,
                              .outcome = TrialOutcome::kComplete,
                              .point = p,
                              .values = {p[0] * p[0] + p[1], (p[0] - 1) * (p[0] - 1) + p[1]}});
  }
  int near = 0;
  for (const std::size_t index : best_trials(history)) near += history.trials[index].point[1] < 0.01 ? 1 : 0;
  EXPECT_GE(near, 15);
}

TEST(Sampler, RunningTrialsKeepOthersAway) {
  SearchSpace space;
  space.parameters = {float_parameter("x", 0, 1), float_parameter("y", 0, 1)};
  const auto sampler = make_sampler({.seed = 1}, space);
  TrialHistory history;
  for (int number = 0; number < 20; ++number) {
    const std::vector<double> p = *sampler->suggest(history, number);
    history.trials.push_back({.number = number,
                              .outcome = TrialOutcome::kComplete,
                              .point = p,
                              .values = {std::abs(p[0] - 0.3) + std::abs(p[1] - 0.7)}});
  }
  for (int worker = 0; worker < 4; ++worker) {
    const std::vector<double> p = *sampler->suggest(history, 20 + worker);
    for (const ObservedTrial& trial : history.trials)
      if (trial.outcome == TrialOutcome::kRunning) {
        EXPECT_GT(std::hypot(trial.point[0] - p[0], trial.point[1] - p[1]), 1e-6);
      }
    history.trials.push_back({.number = 20 + worker, .outcome = TrialOutcome::kRunning, .point = p});
  }
}

TEST(Sampler, SettingsSurviveTheirText) {
  const SamplerSettings settings{.name = "random", .seed = 12};
  EXPECT_EQ(parse_sampler_settings(sampler_settings_text(settings), "study"), settings);
  for (const char* text : {R"({"name": "randon"})", R"({"sede": 1})", R"({"seed": -1})", "7", ""})
    EXPECT_THROW(parse_sampler_settings(text, "study"), Error) << text;
  try {
    make_sampler({.name = "randon"}, mixed_space());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("'random'"), std::string::npos);
  }
  EXPECT_THROW(make_sampler({.name = "grid"}, mixed_space()), Error);  // rate has no step
}

TEST(Halton, EveryCellOfEachDimensionHasItsShare) {
  for (const std::int64_t dimension : {0, 1, 5, 60}) {
    std::vector<int> counts(4, 0);
    for (std::uint64_t index = 0; index < 4000; ++index)
      ++counts[static_cast<std::size_t>(4 * scrambled_halton(9, index, dimension))];
    for (const int count : counts) EXPECT_NEAR(count, 1000, 60) << dimension;
  }
}

}  // namespace
}  // namespace nadi
