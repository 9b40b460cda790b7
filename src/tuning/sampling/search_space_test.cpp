#include "nadi/sampling/search_space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "nadi/base/error.h"
#include "nadi/sampling/point_pool.h"

namespace nadi::inline tuning {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(SearchSpace, UnitsOfAContinuousRange) {
  const SearchParameter parameter = float_parameter("x", -5, 10);
  EXPECT_DOUBLE_EQ(parameter.value_at(0), -5);
  EXPECT_DOUBLE_EQ(parameter.value_at(1), 10);
  EXPECT_DOUBLE_EQ(parameter.value_at(0.2), -2);  // -5 + 0.2 * 15
  EXPECT_DOUBLE_EQ(parameter.unit_of(-2), 0.2);
  EXPECT_FALSE(parameter.count().has_value());
}

TEST(SearchSpace, LogarithmicRangesAreEvenInTheirLogarithm) {
  const SearchParameter parameter = float_parameter("rate", 1e-4, 1, ParameterScale::kLog);
  EXPECT_NEAR(parameter.value_at(0.5), 1e-2, 1e-12);
  EXPECT_NEAR(parameter.unit_of(1e-3), 0.25, 1e-12);
}

TEST(SearchSpace, GridsHaveEqualCells) {
  // 3, 5, 7, 9 means cells of two around each, from 2 to 10.
  const SearchParameter parameter = int_parameter("n", 3, 9, ParameterScale::kLinear, 2);
  EXPECT_EQ(parameter.count(), 4);
  std::map<double, int> counts;
  for (int i = 0; i < 4000; ++i) ++counts[parameter.value_at((i + 0.5) / 4000)];
  EXPECT_EQ(counts, (std::map<double, int>{{3, 1000}, {5, 1000}, {7, 1000}, {9, 1000}}));
  EXPECT_DOUBLE_EQ(parameter.unit_of(3), 0.125);
}

TEST(SearchSpace, StepsThatBinaryCannotHoldKeepTheirLastValue) {
  const SearchParameter parameter = float_parameter("share", 0.1, 0.5, ParameterScale::kLinear, 0.1);
  EXPECT_EQ(parameter.count(), 5);
  EXPECT_DOUBLE_EQ(parameter.value_at(1), 0.5);
  EXPECT_TRUE(parameter.contains(0.30000000000000004));
  EXPECT_FALSE(parameter.contains(0.35));
}

TEST(SearchSpace, LogarithmicIntsReachBothEnds) {
  const SearchParameter parameter = int_parameter("batch", 1, 1024, ParameterScale::kLog);
  EXPECT_EQ(parameter.value_at(0), 1);
  EXPECT_EQ(parameter.value_at(1), 1024);
  for (const double value : {1.0, 2.0, 3.0, 100.0, 1023.0})
    EXPECT_EQ(parameter.value_at(parameter.unit_of(value)), value);
}

SearchSpace conditional_space() {
  SearchSpace space;
  space.parameters = {choice_parameter("recompute", 3), int_parameter("layers", 1, 4),
                      choice_parameter("overlap", 2)};
  space.parameters[1].active = [](std::span<const double> point) { return point[0] == 2; };
  return space;
}

TEST(SearchSpace, InactiveParametersHaveNoValue) {
  const SearchSpace space = conditional_space();
  const std::vector<double> point = space.completed({1, 3, 0});
  EXPECT_TRUE(same_point(point, std::vector<double>{1, kNone, 0}));
  EXPECT_TRUE(space.valid(point));
  EXPECT_FALSE(space.valid(std::vector<double>{1, 3, 0}));
  EXPECT_FALSE(space.valid(std::vector<double>{2, kNone, 0}));
}

TEST(SearchSpace, EnumerationDoesNotMultiplyByInactiveOnes) {
  // (2 choices without layers + 1 choice * 4 layers) * 2 = 12
  EXPECT_EQ(enumerate_points(conditional_space(), 100)->size(), 12U);
  EXPECT_EQ(conditional_space().grid_size(), 24);
  EXPECT_FALSE(enumerate_points(conditional_space(), 11).has_value());
  SearchSpace space = conditional_space();
  space.allowed = [](std::span<const double> point) { return point[2] == 1; };
  EXPECT_EQ(enumerate_points(space, 100)->size(), 6U);
}

TEST(SearchSpace, MistakesAreRefused) {
  const auto refused = [](SearchParameter parameter, std::string_view part) {
    SearchSpace space;
    space.parameters = {std::move(parameter)};
    try {
      space.check_parameters();
      ADD_FAILURE() << "not refused: " << part;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    }
  };
  refused(float_parameter("x", 2, 1), "from 2 down to 1");
  refused(float_parameter("x", 0, 1, ParameterScale::kLog), "above 0");
  refused(float_parameter("x", 0, 1, ParameterScale::kLinear, 3), "beyond its range");
  refused(float_parameter("x", 0, 1, ParameterScale::kLinear, -1), "step of -1");
  refused(float_parameter("x", 0, INFINITY), "finite");
  refused(float_parameter("x", 1, 2, ParameterScale::kLog, 0.5), "logarithmic range and a step");
  refused(int_parameter("x", 0, 5, ParameterScale::kLinear, 0), "at least 1");
  refused(choice_parameter("x", 0), "down to");
  refused(float_parameter("", 0, 1), "no name");
  SearchSpace twice;
  twice.parameters = {float_parameter("x", 0, 1), float_parameter("x", 0, 1)};
  EXPECT_THROW(twice.check_parameters(), Error);
  EXPECT_THROW(SearchSpace{}.check_parameters(), Error);
}

TEST(PointPool, FreshPointsAreValidAndUntried) {
  SearchSpace space = conditional_space();
  space.allowed = [](std::span<const double> point) { return point[0] != 0; };
  const PointPool pool(space);
  TrialHistory history;
  for (int number = 0; number < 10; ++number) {
    CountedRandom random(1, number, "test");
    const auto point = pool.fresh({0, kNone, 0}, random, TriedPoints(history));
    ASSERT_TRUE(point.has_value());
    EXPECT_TRUE(space.valid(*point));
    for (const ObservedTrial& trial : history.trials) EXPECT_FALSE(same_point(trial.point, *point));
    history.trials.push_back({.number = number, .point = *point});
  }
  CountedRandom random(1, 10, "test");  // (1 + 4) * 2 points: all are tried
  EXPECT_FALSE(pool.fresh({0, kNone, 0}, random, TriedPoints(history)).has_value());
  EXPECT_FALSE(pool.draw(random, TriedPoints(history)).has_value());
}

TEST(PointPool, TriedPointsAreThoseOfTheHistory) {
  TrialHistory history;
  // 1,000 points, each three times, and one with a parameter that is not active.
  for (int i = 0; i < 3000; ++i) history.trials.push_back({.number = i, .point = {i % 1000 * 0.5, 0.0}});
  history.trials.push_back({.number = 3000, .point = {7, kNone}});
  const TriedPoints tried(history);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(tried.contains(std::vector<double>{i * 0.5, -0.0})) << i;
  EXPECT_TRUE(tried.contains(std::vector<double>{7, -kNone}));
  EXPECT_FALSE(tried.contains(std::vector<double>{500, 0}));
  EXPECT_FALSE(tried.contains(std::vector<double>{0.25, 0}));
  const TrialHistory nothing;
  EXPECT_FALSE(TriedPoints(nothing).contains(std::vector<double>{0, 0}));
}

TEST(PointPool, ASpaceWithoutValidPointsIsAnError) {
  SearchSpace space = conditional_space();
  space.allowed = [](std::span<const double>) { return false; };
  EXPECT_THROW(PointPool{space}, Error);
  SearchSpace continuous;
  continuous.parameters = {float_parameter("x", 0, 1)};
  continuous.allowed = space.allowed;
  const PointPool pool(continuous);
  CountedRandom random(1, 0, "test");
  EXPECT_THROW(pool.draw_any(random), Error);
}

}  // namespace
}  // namespace nadi::inline tuning
