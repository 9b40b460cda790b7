#include "nadi/sampling/parzen_estimator.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nadi::inline tuning {
namespace {

TEST(ParzenEstimator, DensitiesIntegrateToOne) {
  SearchSpace space;
  space.parameters = {float_parameter("x", -2, 3), int_parameter("n", 1, 9, ParameterScale::kLog),
                      choice_parameter("c", 3)};
  const std::vector<std::vector<double>> trials{{-1.9, 1, 0}, {0.3, 4, 2}, {0.35, 9, 2}};
  const ParzenEstimator estimator(space, {0, 1, 2}, {trials.begin(), trials.end()});
  EXPECT_EQ(estimator.kernels(), 4U);
  constexpr int kSteps = 400;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i)
    for (double n = 1; n <= 9; ++n)
      for (double c = 0; c < 3; ++c)
        sum +=
            std::exp(estimator.log_density(std::vector<double>{-2 + 5 * (i + 0.5) / kSteps, n, c})) / kSteps;
  EXPECT_NEAR(sum, 1, 1e-3);
}

TEST(ParzenEstimator, DrawsFollowTheDensity) {
  SearchSpace space;
  space.parameters = {float_parameter("x", 0, 1), choice_parameter("c", 2)};
  const std::vector<std::vector<double>> trials{{0.1, 1}, {0.15, 1}, {0.2, 1}};
  const ParzenEstimator estimator(space, {0, 1}, {trials.begin(), trials.end()});
  CountedRandom random(1, 0, "test");
  constexpr int kDraws = 20000;
  double below = 0;
  double ones = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::vector<double> drawn = estimator.draw(random);
    ASSERT_TRUE(space.parameters[0].contains(drawn[0]));
    below += drawn[0] < 0.5 ? 1 : 0;
    ones += drawn[1];
  }
  double expected_below = 0;
  double expected_ones = 0;
  for (int i = 0; i < 1000; ++i) {
    for (double c = 0; c < 2; ++c) {
      const double density = std::exp(estimator.log_density(std::vector<double>{(i + 0.5) / 1000, c})) / 1000;
      if (i < 500) expected_below += density;
      if (c == 1) expected_ones += density;
    }
  }
  EXPECT_NEAR(below / kDraws, expected_below, 0.015);
  EXPECT_NEAR(ones / kDraws, expected_ones, 0.015);
}

}  // namespace
}  // namespace nadi::inline tuning
