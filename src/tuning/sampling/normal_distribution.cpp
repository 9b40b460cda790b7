// The tails are what matters here: densities of good trials are compared far from any trial, and expected
// improvements are maximised where they are 10^-100. Differences of the cumulative distribution are taken on
// the side where both are small, and the sum of the improvement far below 0 by its asymptotic series.
#include "nadi/sampling/normal_distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace nadi::inline tuning {
namespace {

constexpr double kLogRootTwoPi = 0.91893853320467274178;
constexpr double kSeriesFrom = 12;  // the first term left out is below 1e-6 of the sum

// Asymptotic series of 1 - z m(z), m the ratio of upper tail to density: 1/z^2 - 3/z^4 + 15/z^6 - ...
double tail_series(double z) {
  const double s = 1 / (z * z);
  return s * (1 - s * (3 - s * (15 - s * (105 - s * 945))));
}

}  // namespace

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

double log_normal_pdf(double z) {
  return -0.5 * z * z - kLogRootTwoPi;
}

double normal_mills_ratio(double z) {
  if (z < -kSeriesFrom) return (1 - tail_series(-z)) / -z;
  return normal_cdf(z) / std::exp(log_normal_pdf(z));
}

LogNormalCdf log_normal_cdf(double z) {
  // Above 0 the density vanishes before its ratio does.
  if (z > 0) return {std::log1p(-normal_cdf(-z)), std::exp(log_normal_pdf(z)) / normal_cdf(z)};
  const double ratio = normal_mills_ratio(z);
  return {log_normal_pdf(z) + std::log(ratio), 1 / ratio};
}

double normal_quantile(double probability) {
  // A start from the logarithm of the tail, then Newton's method with Halley's correction on the smaller
  // side.
  if (probability == 0.5) return 0;
  const double tail = std::min(probability, 1 - probability);
  const double t = std::sqrt(-2 * std::log(tail));
  // Rational start (Hastings' form of the tail), within 5e-4.
  double z = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int round = 0; round < 3; ++round) {
    const double error = normal_cdf(z) - tail;
    const double step = error / std::exp(log_normal_pdf(z));
    const double change = step / (1 + 0.5 * z * step);
    z -= change;
    if (std::abs(change) < 1e-15 * std::abs(z)) break;
  }
  return probability < 0.5 ? z : -z;
}

double log_normal_mass(double a, double b) {
  if (!(a < b)) return -std::numeric_limits<double>::infinity();
  if (a > 0) return log_normal_mass(-b, -a);
  if (b > 0) return std::log(normal_cdf(b) - normal_cdf(a));
  // Both below 0: log cdf(b) + log(1 - cdf(a) / cdf(b)), the ratio by Mills' ratios.
  const double log_b = log_normal_cdf(b).value;
  if (std::isinf(a)) return log_b;
  const double log_a = log_normal_cdf(a).value;
  return log_b + std::log(-std::expm1(log_a - log_b));
}

double truncated_normal_quantile(double share, double a, double b) {
  if (a > 0) return -truncated_normal_quantile(1 - share, -b, -a);
  // On the lower side: cdf(a) + share * mass, in the logarithm when it is far out.
  if (b < -30) {
    // The density is exponential here with rate |b|: exact to 1e-3 of a deviation, which is never visible.
    const double rate = -b;
    const double z = b + std::log(share + (1 - share) * std::exp(std::max(-700.0, (a - b) * rate))) / rate;
    return std::clamp(z, a, b);
  }
  const double low = normal_cdf(a);
  const double probability = low + share * (normal_cdf(b) - low);
  if (probability <= 0) return a;
  if (probability >= 1) return b;
  return std::clamp(normal_quantile(probability), a, b);
}

double log_improvement(double z) {
  if (z > -1) return std::log(std::exp(log_normal_pdf(z)) + z * normal_cdf(z));
  if (z < -kSeriesFrom) return log_normal_pdf(z) + std::log(tail_series(z));
  return log_normal_pdf(z) + std::log1p(z * normal_mills_ratio(z));
}

}  // namespace nadi::inline tuning
