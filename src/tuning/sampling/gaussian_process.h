// A Gaussian process over points of a search space: what a value may be at a point that was never tried.
//
//   const GaussianProcess process = GaussianProcess::fit(inputs, values, options);
//   const GaussianPrediction at = process.predict(point);   // mean and deviation, of the warped values
//
// The covariance is Matern's of order 5/2 with a length for each parameter (matern_kernel.h). Outputs are
// warped before they are modelled,
//
//   u = log(1 + (y - least) / c)
//
// with c found with the other parameters: a large c leaves values as they are, a small one takes the
// logarithm of what is above the best, as a loss over several decades needs. Mean and scale are solved for in
// closed form, lengths, noise and c by the gradient of the marginal likelihood times priors. All outputs of
// this class are of u; the order is that of y.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/sampling/matern_kernel.h"
#include "nadi/sampling/triangular_factor.h"

namespace nadi::inline tuning {

struct GaussianOptions {
  bool warp = true;     // false means c is infinite
  int iterations = 40;  // of the search for lengths, noise and c
};

struct GaussianPrediction {
  double mean = 0;
  double deviation = 0;  // of the function, without the noise of an observation
};

struct GaussianGradient {
  std::vector<double> mean;       // by each numeric parameter; 0 for choices
  std::vector<double> deviation;  // likewise
};

class GaussianProcess {
 public:
  // Takes at least two points; values are finite.
  static GaussianProcess fit(GaussianInputs inputs, std::vector<double> values,
                             const GaussianOptions& options);

  GaussianPrediction predict(std::span<const double> point) const;
  GaussianPrediction predict(std::span<const double> point, GaussianGradient& gradient) const;

  // The mean at the i-th point that it was fitted to; without noise the observation itself.
  double mean_at(std::size_t i) const { return targets_[i] - noise_ * dual_[i]; }

  // Adds a point as if its mean had been observed there: the mean stays, the deviation near it falls. For
  // trials that still run. Returns the mean.
  double assume_mean_at(std::span<const double> point);

  double log_likelihood() const { return log_likelihood_; }  // with priors, less constants
  double length(std::size_t parameter) const;
  double prior_deviation() const;  // of the function where nothing is known
  double noise_deviation() const;  // of an observation, in units of u
  double warp() const { return warp_; }

 private:
  void condition();  // on inputs_ and targets_, with the parameters as they are

  GaussianInputs inputs_;
  std::vector<double> targets_;  // u
  std::vector<double> weights_;  // 1 / length^2
  double noise_ = 0;             // variance, as a share of the scale
  double warp_ = 0;              // c; 0 means none
  double mean_ = 0;
  double scale_ = 1;  // variance of the process
  double log_likelihood_ = 0;
  TriangularFactor factor_;
  std::vector<double> inverse_;
  std::vector<double> dual_;  // inverse times (u - mean)
};

}  // namespace nadi::inline tuning
