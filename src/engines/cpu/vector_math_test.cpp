#include "nadi/cpu/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace nadi::inline engines::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kUlp = 0x1p-23;  // one unit in the last place, relative to the smallest number that has it

double relative_error(double value, double exact) {
  return std::abs(value - exact) / std::abs(exact);
}

TEST(FastExp, IsExactToTwoUnits) {
  double worst = 0;
  for (float x = -87.3F; x < 88.3F; x += 0.00137F)
    worst = std::max(worst, relative_error(fast_exp(x), std::exp(static_cast<double>(x))));
  EXPECT_LE(worst, 2 * kUlp);
  EXPECT_EQ(fast_exp(0), 1);
}

TEST(FastExp, StaysFiniteAndKeepsNaN) {
  EXPECT_EQ(fast_exp(-100), 0);
  EXPECT_EQ(fast_exp(-kInfinity), 0);
  EXPECT_TRUE(std::isfinite(fast_exp(1000)));
  EXPECT_TRUE(std::isfinite(fast_exp(kInfinity)));
  EXPECT_GT(fast_exp(kInfinity), 1e38F);
  EXPECT_TRUE(std::isnan(fast_exp(kNaN)));
}

TEST(Sigmoid, AndItsComplementKeepTheirDigits) {
  double worst = 0;
  for (float x = -80; x < 80; x += 0.0137F) {
    const double e = std::exp(-static_cast<double>(x));
    const Sigmoid s = sigmoid(x);
    worst =
        std::max({worst, relative_error(s.value, 1 / (1 + e)), relative_error(s.complement, e / (1 + e))});
  }
  EXPECT_LE(worst, 4 * kUlp);
}

TEST(StandardNormal, IsCloseEverywhere) {
  double worst = 0, worst_relative = 0, worst_density = 0;
  for (float x = -12; x < 12; x += 0.00137F) {
    const double d = x;
    const double below = 0.5 * std::erfc(-d / std::numbers::sqrt2);
    const double density = std::exp(-d * d / 2) / std::sqrt(2 * std::numbers::pi);
    const Normal normal = standard_normal(x);
    worst = std::max(worst, std::abs(normal.below - below));
    worst_density = std::max(worst_density, std::abs(normal.density - density));
    // x^2 is rounded before the exponential, which makes the far tail a little worse.
    if (std::abs(x) < 4) worst_relative = std::max(worst_relative, relative_error(normal.below, below));
  }
  EXPECT_LE(worst, 1e-7);  // of erf: twice that
  EXPECT_LE(worst_density, 1e-7);
  EXPECT_LE(worst_relative, 1e-6);
  EXPECT_EQ(standard_normal(kInfinity).below, 1);
  EXPECT_EQ(standard_normal(-kInfinity).below, 0);
  EXPECT_TRUE(std::isnan(standard_normal(kNaN).below));
}

}  // namespace
}  // namespace nadi::inline engines::cpu
