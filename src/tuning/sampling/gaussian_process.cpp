// Marginal likelihood, with R = K + noise I (unit scale), e = u - mean, mean and scale at their best values:
//
//   -log L = n/2 log scale + 1/2 log|R| + sum log(c + v),   scale = e'R^-1 e / n,   v = y - least
//   d/dt   = 1/2 tr(R^-1 dR) - 1/2 e'R^-1 dR R^-1 e / scale           t: logarithm of a weight or of the
//   noise d/dlog c = sum of (R^-1 e)_i / scale * du_i + c / (c + v_i),  du_i = -v_i / (c + v_i)
//
// The last sum is the warp's Jacobian: it makes likelihoods of different warps comparable. Priors are normal
// in logarithms. Those of the lengths grow with the square root of the number of parameters, since distances
// do.
#include "nadi/sampling/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/sampling/projected_lbfgs.h"

namespace nadi::inline tuning {
namespace {

constexpr double kSmallestNoise = 1e-7;
constexpr double kLargestNoise = 1.0;

struct NormalPrior {
  double mean = 0;
  double deviation = 1;
};

double quantile_of(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The likelihood as a function of (log weights, log noise, log c).
class MarginalLikelihood {
 public:
  MarginalLikelihood(const GaussianInputs& inputs, std::vector<double> excess, bool warp)
      : inputs_(inputs), n_(inputs.size()), excess_(std::move(excess)), warp_(warp) {
    const std::size_t pairs = n_ * (n_ - 1) / 2;
    squares_.resize(inputs.parameters * pairs);
    for (std::size_t d = 0; d < inputs.parameters; ++d) {
      double* out = &squares_[d * pairs];
      for (std::size_t i = 0; i < n_; ++i) {
        const double a = inputs.points[i * inputs.parameters + d];
        for (std::size_t j = i + 1; j < n_; ++j) {
          const double difference = a - inputs.points[j * inputs.parameters + d];
          *out++ = inputs.choice[d] ? (difference == 0 ? 0.0 : 1.0) : difference * difference;
        }
      }
    }
    // Lengths: half of the diagonal of a space where all parameters count, and a factor of 3.5 either way.
    const double dimensions = static_cast<double>(inputs.parameters);
    weight_prior_ = {-2 * std::log(0.5 * std::sqrt(dimensions)), 2.5};
    noise_prior_ = {std::log(1e-4), 3.0};
    if (warp_) {
      const double largest = *std::max_element(excess_.begin(), excess_.end());
      const double low = std::max(quantile_of(excess_, 0.1), 1e-9 * largest);
      warp_prior_ = {std::log(largest), 3.0};
      warp_bounds_ = {std::log(std::max(0.05 * low, 1e-12 * largest)), std::log(20 * largest)};
    }
  }

  std::size_t size() const { return inputs_.parameters + (warp_ ? 2 : 1); }

  std::vector<double> start() const {
    std::vector<double> x(inputs_.parameters, weight_prior_.mean);
    x.push_back(noise_prior_.mean);
    if (warp_) x.push_back(0.5 * (std::log(quantile_of(excess_, 0.5)) + warp_bounds_.second));
    return x;
  }
  std::vector<double> lower() const {
    std::vector<double> x(inputs_.parameters, std::log(1e-4));
    x.push_back(std::log(kSmallestNoise));
    if (warp_) x.push_back(warp_bounds_.first);
    return x;
  }
  std::vector<double> upper() const {
    std::vector<double> x(inputs_.parameters, std::log(1e4));
    x.push_back(std::log(kLargestNoise));
    if (warp_) x.push_back(warp_bounds_.second);
    return x;
  }

  double operator()(std::span<const double> x, std::span<double> gradient) const {
    const std::size_t dimensions = inputs_.parameters;
    const std::size_t pairs = n_ * (n_ - 1) / 2;
    const double noise = std::exp(x[dimensions]);
    std::vector<double> weights(dimensions);
    for (std::size_t d = 0; d < dimensions; ++d) weights[d] = std::exp(x[d]);
    std::vector<double> square(pairs, 0.0);
    for (std::size_t d = 0; d < dimensions; ++d) {
      const double* from = &squares_[d * pairs];
      const double weight = weights[d];
      for (std::size_t p = 0; p < pairs; ++p) square[p] += weight * from[p];
    }
    std::vector<double> matrix(n_ * n_, 0.0);
    std::vector<double> slopes(pairs);
    std::size_t pair = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      matrix[i * n_ + i] = 1 + noise;
      for (std::size_t j = i + 1; j < n_; ++j, ++pair) {
        const MaternAt at = matern(square[pair]);
        matrix[i * n_ + j] = at.value;
        slopes[pair] = at.slope;
      }
    }
    TriangularFactor factor;
    if (!factor.decompose(std::move(matrix), n_)) return INFINITY;
    const double c = warp_ ? std::exp(x[dimensions + 1]) : 0;
    std::vector<double> u = excess_;
    double jacobian = 0;
    if (warp_) {
      for (std::size_t i = 0; i < n_; ++i) {
        u[i] = std::log1p(excess_[i] / c);
        jacobian += std::log(c + excess_[i]);
      }
    }
    std::vector<double> ones(n_, 1.0);
    factor.solve(ones);
    const double mean = std::inner_product(ones.begin(), ones.end(), u.begin(), 0.0) /
                        std::accumulate(ones.begin(), ones.end(), 0.0);
    std::vector<double> dual(n_);
    for (std::size_t i = 0; i < n_; ++i) dual[i] = u[i] - mean;
    std::vector<double> centred = dual;
    factor.solve(dual);
    const double count = static_cast<double>(n_);
    const double scale = std::inner_product(centred.begin(), centred.end(), dual.begin(), 0.0) / count;
    if (!(scale > 0)) return INFINITY;
    double value = 0.5 * count * std::log(scale) + 0.5 * factor.log_determinant() + jacobian;

    const std::vector<double> inverse = factor.inverse();
    // By the squared distance of each pair: both of its entries in R.
    pair = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double* row = &inverse[i * n_];
      const double own = dual[i] / scale;
      for (std::size_t j = i + 1; j < n_; ++j, ++pair) slopes[pair] *= row[j] - own * dual[j];
    }
    for (std::size_t d = 0; d < dimensions; ++d) {
      const double* from = &squares_[d * pairs];
      double partial[4] = {0, 0, 0, 0};  // four sums, in a fixed order
      std::size_t p = 0;
      for (; p + 4 <= pairs; p += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) partial[lane] += slopes[p + lane] * from[p + lane];
      for (; p < pairs; ++p) partial[0] += slopes[p] * from[p];
      gradient[d] = weights[d] * (partial[0] + partial[1] + partial[2] + partial[3]);
    }
    double trace = 0;
    for (std::size_t i = 0; i < n_; ++i) trace += inverse[i * n_ + i] - dual[i] * dual[i] / scale;
    gradient[dimensions] = 0.5 * noise * trace;
    if (warp_) {
      double by_warp = 0;
      for (std::size_t i = 0; i < n_; ++i) by_warp += (c - dual[i] / scale * excess_[i]) / (c + excess_[i]);
      gradient[dimensions + 1] = by_warp;
    }
    const auto add_prior = [&](std::size_t index, const NormalPrior& prior) {
      const double z = (x[index] - prior.mean) / prior.deviation;
      value += 0.5 * z * z;
      gradient[index] += z / prior.deviation;
    };
    for (std::size_t d = 0; d < dimensions; ++d) add_prior(d, weight_prior_);
    add_prior(dimensions, noise_prior_);
    if (warp_) add_prior(dimensions + 1, warp_prior_);
    return value;
  }

 private:
  const GaussianInputs& inputs_;
  std::size_t n_;
  std::vector<double> excess_;  // y - least
  bool warp_;
  std::vector<double> squares_;  // of the distance of each pair, parameter by parameter
  NormalPrior weight_prior_;
  NormalPrior noise_prior_;
  NormalPrior warp_prior_;
  std::pair<double, double> warp_bounds_;
};

}  // namespace

GaussianProcess GaussianProcess::fit(GaussianInputs inputs, std::vector<double> values,
                                     const GaussianOptions& options) {
  check(inputs.size() == values.size() && values.size() >= 2, "a process is fitted to at least two points");
  const double least = *std::min_element(values.begin(), values.end());
  for (double& value : values) value -= least;
  // In units of the largest, so that the scale of the problem does not matter.
  const double largest = *std::max_element(values.begin(), values.end());
  if (largest > 0)
    for (double& value : values) value /= largest;
  const bool warp = options.warp && largest > 0 && values.size() >= 4 && quantile_of(values, 0.5) > 0;
  GaussianProcess process;
  process.inputs_ = std::move(inputs);
  const std::size_t dimensions = process.inputs_.parameters;
  if (largest > 0) {
    const MarginalLikelihood likelihood(process.inputs_, values, warp);
    std::vector<double> x = likelihood.start();
    const double negative = minimize_in_box(
        [&](std::span<const double> at, std::span<double> gradient) { return likelihood(at, gradient); },
        likelihood.lower(), likelihood.upper(), x, {.iterations = options.iterations, .tolerance = 1e-3});
    process.log_likelihood_ = -negative;
    for (std::size_t d = 0; d < dimensions; ++d) process.weights_.push_back(std::exp(x[d]));
    process.noise_ = std::exp(x[dimensions]);
    process.warp_ = warp ? std::exp(x[dimensions + 1]) : 0;
  } else {
    process.weights_.assign(dimensions, 1.0);
    process.noise_ = 1e-4;
  }
  process.targets_ = std::move(values);
  if (warp)
    for (double& target : process.targets_) target = std::log1p(target / process.warp_);
  process.condition();
  return process;
}

void GaussianProcess::condition() {
  const std::size_t n = inputs_.size();
  std::vector<double> matrix(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> row(n);
    std::vector<double> slopes(n);
    matern_correlations(inputs_, weights_, inputs_.row(i), row, slopes);
    std::copy(row.begin(), row.end(), matrix.begin() + static_cast<std::ptrdiff_t>(i * n));
    matrix[i * n + i] = 1 + noise_;
  }
  std::vector<double> kept = matrix;
  while (!factor_.decompose(std::move(matrix), n)) {
    // Points that coincide; more noise tells them apart.
    noise_ = std::max(noise_ * 10, 1e-8);
    matrix = kept;
    for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] = 1 + noise_;
  }
  std::vector<double> ones(n, 1.0);
  factor_.solve(ones);
  mean_ = std::inner_product(ones.begin(), ones.end(), targets_.begin(), 0.0) /
          std::accumulate(ones.begin(), ones.end(), 0.0);
  dual_.resize(n);
  for (std::size_t i = 0; i < n; ++i) dual_[i] = targets_[i] - mean_;
  const std::vector<double> centred = dual_;
  factor_.solve(dual_);
  scale_ = std::max(
      1e-12, std::inner_product(centred.begin(), centred.end(), dual_.begin(), 0.0) / static_cast<double>(n));
  inverse_ = factor_.inverse();
}

GaussianPrediction GaussianProcess::predict(std::span<const double> point) const {
  GaussianGradient unused;
  return predict(point, unused);
}

GaussianPrediction GaussianProcess::predict(std::span<const double> point, GaussianGradient& gradient) const {
  const std::size_t n = inputs_.size();
  std::vector<double> k(n);
  std::vector<double> slopes(n);
  matern_correlations(inputs_, weights_, point, k, slopes);
  std::vector<double> solved(n, 0.0);  // inverse times k, row by row: the inverse is symmetric
  for (std::size_t i = 0; i < n; ++i) {
    const double factor = k[i];
    const double* row = &inverse_[i * n];
    for (std::size_t j = 0; j < n; ++j) solved[j] += factor * row[j];
  }
  GaussianPrediction result;
  double explained = 0;
  for (std::size_t i = 0; i < n; ++i) {
    result.mean += k[i] * dual_[i];
    explained += k[i] * solved[i];
  }
  result.mean += mean_;
  const double share = std::max(1e-10, 1 - explained);
  result.deviation = std::sqrt(scale_ * share);
  if (!gradient.mean.empty()) {
    const std::size_t dimensions = inputs_.parameters;
    std::fill(gradient.mean.begin(), gradient.mean.end(), 0.0);
    std::fill(gradient.deviation.begin(), gradient.deviation.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      const double* other = &inputs_.points[i * dimensions];
      const double by_mean = slopes[i] * dual_[i];
      const double by_share = slopes[i] * solved[i];
      for (std::size_t d = 0; d < dimensions; ++d) {
        if (inputs_.choice[d]) continue;
        const double difference = 2 * weights_[d] * (point[d] - other[d]);
        gradient.mean[d] += by_mean * difference;
        gradient.deviation[d] += by_share * difference;
      }
    }
    // d deviation = scale * d share / (2 deviation), d share = -2 (inverse k)' dk
    for (double& entry : gradient.deviation) entry *= -scale_ / result.deviation;
  }
  return result;
}

double GaussianProcess::assume_mean_at(std::span<const double> point) {
  const double mean = predict(point).mean;
  const double kept_scale = scale_;
  inputs_.points.insert(inputs_.points.end(), point.begin(), point.end());
  targets_.push_back(mean);
  condition();
  scale_ = kept_scale;
  return mean;
}

double GaussianProcess::length(std::size_t parameter) const {
  return 1 / std::sqrt(weights_[parameter]);
}

double GaussianProcess::prior_deviation() const {
  return std::sqrt(scale_);
}

double GaussianProcess::noise_deviation() const {
  return std::sqrt(scale_ * noise_);
}

}  // namespace nadi::inline tuning
