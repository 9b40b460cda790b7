// The normal distribution, and what densities and expected improvements need of it far out in its tails.
#pragma once

namespace nadi::inline tuning {

double normal_cdf(double z);
double log_normal_pdf(double z);

// Inverse of normal_cdf, for probabilities in (0, 1); relative error below 1e-13.
double normal_quantile(double probability);

// log(cdf(b) - cdf(a)) for a < b, exact in both tails.
double log_normal_mass(double a, double b);

// A normal with mean 0 and deviation 1 kept to [a, b], at the given share of its mass: the inverse of its
// cdf.
double truncated_normal_quantile(double share, double a, double b);

// cdf(z) / pdf(z), for any z.
double normal_mills_ratio(double z);

// log(cdf(z)), exact in both tails.
struct LogNormalCdf {
  double value;
  double slope;  // pdf(z) / cdf(z)
};
LogNormalCdf log_normal_cdf(double z);

// log(pdf(z) + z cdf(z)): the logarithm of the expected improvement in units of the deviation, where z is how
// many deviations the mean is better than the best. Exact far below 0, too, where the sum itself is lost to
// rounding.
double log_improvement(double z);

}  // namespace nadi::inline tuning
