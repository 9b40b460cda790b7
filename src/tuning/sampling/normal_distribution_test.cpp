#include "nadi/sampling/normal_distribution.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nadi::inline tuning {
namespace {

TEST(NormalDistribution, QuantileInvertsTheDistribution) {
  for (const double p : {1e-300, 1e-20, 1e-5, 0.01, 0.3, 0.5, 0.7, 0.99})
    EXPECT_NEAR(normal_cdf(normal_quantile(p)) / p, 1, 1e-12) << p;
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
}

TEST(NormalDistribution, MassAgreesWithNumericIntegration) {
  for (const auto& [a, b] : {std::pair{-1.0, 2.0}, {3.0, 4.0}, {-9.0, -8.5}, {20.0, 20.1}}) {
    constexpr int kSteps = 20000;
    double sum = 0;
    const double shift = log_normal_pdf(std::min(std::abs(a), std::abs(b)));
    for (int i = 0; i < kSteps; ++i)
      sum += std::exp(log_normal_pdf(a + (i + 0.5) * (b - a) / kSteps) - shift);
    EXPECT_NEAR(log_normal_mass(a, b), std::log(sum * (b - a) / kSteps) + shift, 1e-6) << a << " " << b;
  }
}

TEST(NormalDistribution, LogarithmOfTheDistributionHasItsSlope) {
  for (const double z : {-40.0, -12.1, -3.0, 0.0, 0.5, 4.0, 9.0}) {
    constexpr double kStep = 1e-5;
    const double slope = (log_normal_cdf(z + kStep).value - log_normal_cdf(z - kStep).value) / (2 * kStep);
    EXPECT_NEAR(log_normal_cdf(z).slope, slope, 1e-6 * std::max(1.0, slope)) << z;
  }
  EXPECT_NEAR(log_normal_cdf(-1).value, std::log(0.15865525393145707), 1e-14);
  EXPECT_EQ(log_normal_cdf(40).value, 0);
}

TEST(NormalDistribution, TruncatedQuantilesStayInside) {
  for (const auto& [a, b] : {std::pair{-1.0, 2.0}, {5.0, 6.0}, {-50.0, -49.0}, {40.0, 41.0}}) {
    double last = a;
    for (int i = 0; i <= 10; ++i) {
      const double z = truncated_normal_quantile(i / 10.0, a, b);
      EXPECT_GE(z, last - 1e-9);
      EXPECT_LE(z, b);
      last = z;
    }
    EXPECT_NEAR(last, b, 0.05);
  }
}

TEST(NormalDistribution, ImprovementIsSmoothWhereFormulasMeet) {
  // By the mean of max(z + e, 0) over a normal e, as a sum.
  for (const double z : {-3.0, -1.0001, -0.9999, 0.0, 2.0}) {
    double sum = 0;
    for (double e = -10; e < 10; e += 1e-4) sum += std::max(0.0, z + e) * std::exp(log_normal_pdf(e)) * 1e-4;
    EXPECT_NEAR(log_improvement(z), std::log(sum), 1e-5) << z;
  }
  EXPECT_NEAR(log_improvement(-12.000001), log_improvement(-11.999999), 1e-4);
  EXPECT_TRUE(std::isfinite(log_improvement(-1e6)));
}

}  // namespace
}  // namespace nadi::inline tuning
