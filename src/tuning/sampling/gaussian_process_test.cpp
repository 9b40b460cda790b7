#include "nadi/sampling/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nadi/sampling/counted_random.h"
#include "nadi/sampling/projected_lbfgs.h"

namespace nadi::inline tuning {
namespace {

GaussianInputs random_inputs(std::size_t count, std::size_t parameters) {
  CountedRandom random(5, 0, "inputs");
  GaussianInputs inputs{.parameters = parameters, .choice = std::vector<bool>(parameters, false)};
  for (std::size_t i = 0; i < count * parameters; ++i) inputs.points.push_back(random.uniform());
  return inputs;
}

TEST(TriangularFactor, SolvesAndInverts) {
  // det [[4,2],[2,3]] = 8; its inverse is [[3,-2],[-2,4]] / 8.
  TriangularFactor factor;
  ASSERT_TRUE(factor.decompose({4, 2, 2, 3}, 2));
  EXPECT_NEAR(factor.log_determinant(), std::log(8), 1e-14);
  const std::vector<double> inverse = factor.inverse();
  const std::vector<double> expected{0.375, -0.25, -0.25, 0.5};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(inverse[i], expected[i], 1e-15);
  std::vector<double> v{8, 8};
  factor.solve(v);
  EXPECT_NEAR(v[0], 1, 1e-14);
  EXPECT_NEAR(v[1], 2, 1e-14);
  EXPECT_FALSE(factor.decompose({1, 2, 2, 1}, 2));
}

TEST(ProjectedLbfgs, StopsAtTheBox) {
  // (x - 3)^2 + (y - 0.5)^2 in the unit square: (1, 0.5).
  std::vector<double> x{0.1, 0.9};
  const std::vector<double> lower{0, 0};
  const std::vector<double> upper{1, 1};
  const double least = minimize_in_box(
      [](std::span<const double> at, std::span<double> gradient) {
        gradient[0] = 2 * (at[0] - 3);
        gradient[1] = 2 * (at[1] - 0.5);
        return (at[0] - 3) * (at[0] - 3) + (at[1] - 0.5) * (at[1] - 0.5);
      },
      lower, upper, x, {.tolerance = 1e-12});
  EXPECT_NEAR(x[0], 1, 1e-9);
  EXPECT_NEAR(x[1], 0.5, 1e-5);
  EXPECT_NEAR(least, 4, 1e-9);
}

TEST(GaussianProcess, PassesThroughSmoothObservations) {
  GaussianInputs inputs = random_inputs(40, 2);
  std::vector<double> values;
  for (std::size_t i = 0; i < 40; ++i) values.push_back(std::sin(6 * inputs.row(i)[0]) + inputs.row(i)[1]);
  const GaussianInputs kept = inputs;
  const GaussianProcess process = GaussianProcess::fit(std::move(inputs), values, {.warp = false});
  // Values are in units of their range above the least.
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  for (std::size_t i = 0; i < 40; ++i)
    EXPECT_NEAR(process.predict(kept.row(i)).mean, (values[i] - *least) / (*most - *least), 0.01);
  const std::vector<double> between{0.41, 0.37};
  const double expected = (std::sin(6 * 0.41) + 0.37 - *least) / (*most - *least);
  EXPECT_NEAR(process.predict(between).mean, expected, 0.05);
  EXPECT_LT(process.length(0), process.length(1));  // the sine changes faster
}

TEST(GaussianProcess, GradientsAgreeWithDifferences) {
  GaussianInputs inputs = random_inputs(25, 3);
  std::vector<double> values;
  // With noise: without it the deviation among observations is what rounding leaves.
  CountedRandom random(6, 0, "noise");
  for (std::size_t i = 0; i < 25; ++i)
    values.push_back(std::exp(2 * inputs.row(i)[0]) + inputs.row(i)[1] + 0.3 * random.normal());
  const GaussianProcess process = GaussianProcess::fit(std::move(inputs), values, {});
  const std::vector<double> at{0.3, 0.6, 0.2};
  GaussianGradient gradient{.mean = std::vector<double>(3), .deviation = std::vector<double>(3)};
  process.predict(at, gradient);
  for (std::size_t d = 0; d < 3; ++d) {
    std::vector<double> up = at;
    std::vector<double> down = at;
    up[d] += 1e-5;
    down[d] -= 1e-5;
    EXPECT_NEAR(gradient.mean[d], (process.predict(up).mean - process.predict(down).mean) / 2e-5, 1e-4);
    EXPECT_NEAR(gradient.deviation[d],
                (process.predict(up).deviation - process.predict(down).deviation) / 2e-5, 1e-4);
  }
}

TEST(GaussianProcess, AnAssumedPointKeepsTheMeanAndLowersTheDeviation) {
  GaussianInputs inputs = random_inputs(10, 2);
  std::vector<double> values;
  for (std::size_t i = 0; i < 10; ++i) values.push_back(inputs.row(i)[0] * inputs.row(i)[1]);
  GaussianProcess process = GaussianProcess::fit(std::move(inputs), values, {.warp = false});
  const std::vector<double> at{0.9, 0.05};
  const GaussianPrediction before = process.predict(at);
  process.assume_mean_at(at);
  EXPECT_NEAR(process.predict(at).mean, before.mean, 0.02);
  EXPECT_LT(process.predict(at).deviation, 0.5 * before.deviation);
}

TEST(GaussianProcess, EqualValuesAndEqualPointsAreNoProblem) {
  GaussianInputs inputs{.parameters = 1, .choice = {false}, .points = {0.5, 0.5, 0.5, 0.2}};
  EXPECT_TRUE(
      std::isfinite(GaussianProcess::fit(inputs, {1, 1, 1, 1}, {}).predict(std::vector<double>{0.7}).mean));
  EXPECT_TRUE(
      std::isfinite(GaussianProcess::fit(inputs, {1, 2, 3, 4}, {}).predict(std::vector<double>{0.7}).mean));
}

}  // namespace
}  // namespace nadi::inline tuning
