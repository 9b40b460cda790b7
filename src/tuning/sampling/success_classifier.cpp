// Expectation propagation. T are the precisions of the sites, K is the prior's covariance, C the covariance
// after the sites, B = I + T^1/2 K T^1/2, y is 1 for a success and -1 for a failure.
//
// - The cavity of trial i is what is known of f_i without its own site: z = y mean / (1 + variance)^1/2.
// - The site of trial i is set so that cavity times site has the mean and variance of cavity times cdf(y f).
//   C changes by a term of rank one.
// - At a point with covariances k to the trials, the mean is k'(shift - T^1/2 B^-1 T^1/2 K shift) and the
//   variance k(0) - k' T^1/2 B^-1 T^1/2 k.
//
// K has a constant besides Matern's covariance: the level of f, with a prior of its own, so that a study of
// which most trials fail does not take an unknown point for an even chance.
#include "nadi/sampling/success_classifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/sampling/gaussian_process.h"
#include "nadi/sampling/normal_distribution.h"
#include "nadi/sampling/triangular_factor.h"

namespace nadi::inline tuning {
namespace {

constexpr double kLevelVariance = 1;
constexpr int kMostSweeps = 10;

// Tried with the largest evidence winning.
constexpr std::array kScales{16.0, 256.0, 4096.0, 65536.0};
constexpr std::array kLengthFactors{2.0, 2.0};  // one on the other

}  // namespace

SuccessClassifier SuccessClassifier::fit(GaussianInputs inputs, const std::vector<bool>& success) {
  check(inputs.size() == success.size() && std::count(success.begin(), success.end(), true) > 0 &&
            std::count(success.begin(), success.end(), false) > 0,
        "a classifier needs a success and a failure");
  std::vector<double> outcomes;
  for (const bool succeeded : success) outcomes.push_back(succeeded ? 0 : 1);
  const GaussianProcess regression =
      GaussianProcess::fit(inputs, std::move(outcomes), {.warp = false, .iterations = 20});
  SuccessClassifier best;
  best.inputs_ = std::move(inputs);
  for (std::size_t d = 0; d < best.inputs_.parameters; ++d)
    best.weights_.push_back(1 / (regression.length(d) * regression.length(d)));
  best.precision_.assign(success.size(), 0.0);
  best.shift_.assign(success.size(), 0.0);
  best.propagate(success);
  const auto consider = [&](double scale, double length_factor) {
    SuccessClassifier other = best;
    other.scale_ = scale;
    for (double& weight : other.weights_) weight /= length_factor * length_factor;
    other.propagate(success);
    if (other.log_evidence_ <= best.log_evidence_) return false;
    best = std::move(other);
    return true;
  };
  for (const double scale : kScales)
    if (!consider(scale, 1)) break;
  for (const double factor : kLengthFactors)
    if (!consider(best.scale_, factor)) break;
  best.prepare();
  return best;
}

std::vector<double> SuccessClassifier::covariance() const {
  const std::size_t n = inputs_.size();
  std::vector<double> matrix(n * n);
  std::vector<double> unused(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<double> row = std::span(matrix).subspan(i * n, n);
    matern_correlations(inputs_, weights_, inputs_.row(i), row, unused);
    for (double& entry : row) entry = kLevelVariance + scale_ * entry;
  }
  return matrix;
}

namespace {

// C and the mean of f after sites, from the prior: one rank-one term for each.
class SitesPosterior {
 public:
  explicit SitesPosterior(std::vector<double> covariance, std::size_t n)
      : n_(n), covariance_(std::move(covariance)), mean_(n, 0.0) {}

  double mean(std::size_t i) const { return mean_[i]; }
  double variance(std::size_t i) const { return covariance_[i * n_ + i]; }

  void change_site(std::size_t i, double precision_change, double shift_change) {
    const std::vector<double> column(covariance_.begin() + static_cast<std::ptrdiff_t>(i * n_),
                                     covariance_.begin() + static_cast<std::ptrdiff_t>((i + 1) * n_));
    const double factor = precision_change / (1 + precision_change * column[i]);
    const double move = shift_change - factor * (mean_[i] + shift_change * column[i]);
    for (std::size_t j = 0; j < n_; ++j) {
      mean_[j] += move * column[j];
      const double scaled = factor * column[j];
      double* __restrict row = &covariance_[j * n_];
      for (std::size_t k = 0; k < n_; ++k) row[k] -= scaled * column[k];
    }
    log_determinant_ += std::log1p(precision_change * column[i]);
  }

  double log_determinant() const { return log_determinant_; }  // of B

 private:
  std::size_t n_;
  std::vector<double> covariance_;
  std::vector<double> mean_;
  double log_determinant_ = 0;
};

}  // namespace

void SuccessClassifier::propagate(const std::vector<bool>& success) {
  const std::size_t n = inputs_.size();
  SitesPosterior posterior(covariance(), n);
  for (std::size_t i = 0; i < n; ++i)
    if (precision_[i] > 0) posterior.change_site(i, precision_[i], shift_[i]);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double largest = 0;
    double evidence = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double variance = posterior.variance(i);
      const double cavity_precision = std::max(1e-10, 1 / variance - precision_[i]);
      const double cavity_shift = posterior.mean(i) / variance - shift_[i];
      const double cavity_variance = 1 / cavity_precision;
      const double cavity_mean = cavity_shift * cavity_variance;
      const double sign = success[i] ? 1 : -1;
      const double root = std::sqrt(1 + cavity_variance);
      const double z = sign * cavity_mean / root;
      const LogNormalCdf at = log_normal_cdf(z);
      const double new_mean = cavity_mean + sign * cavity_variance * at.slope / root;
      const double new_variance =
          cavity_variance * (1 - cavity_variance * at.slope * (z + at.slope) / (root * root));
      const double new_precision = std::max(1e-10, 1 / new_variance - cavity_precision);
      const double new_shift = new_mean / new_variance - cavity_shift;
      largest = std::max(largest, std::abs(new_mean - posterior.mean(i)) / std::sqrt(variance));
      posterior.change_site(i, new_precision - precision_[i], new_shift - shift_[i]);
      precision_[i] = new_precision;
      shift_[i] = new_shift;
      // The site's share of the evidence, but for log|B| and for what follows the sweep.
      const double total = cavity_precision + new_precision;
      evidence +=
          at.value + 0.5 * std::log1p(new_precision / cavity_precision) -
          0.5 * new_shift * new_shift / total +
          0.5 * cavity_mean * cavity_precision / total * (new_precision * cavity_mean - 2 * new_shift);
    }
    for (std::size_t i = 0; i < n; ++i) evidence += 0.5 * shift_[i] * posterior.mean(i);
    log_evidence_ = evidence - 0.5 * posterior.log_determinant();
    if (largest < 0.01) break;
  }
}

void SuccessClassifier::prepare() {
  const std::size_t n = inputs_.size();
  const std::vector<double> prior = covariance();
  std::vector<double> matrix(n * n);
  std::vector<double> roots(n);
  for (std::size_t i = 0; i < n; ++i) roots[i] = std::sqrt(precision_[i]);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) matrix[i * n + j] = roots[i] * roots[j] * prior[i * n + j];
    matrix[i * n + i] += 1;
  }
  TriangularFactor factor;
  check(factor.decompose(std::move(matrix), n), "the identity and more is positive definite");
  shrink_ = factor.inverse();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) shrink_[i * n + j] *= roots[i] * roots[j];
  std::vector<double> mean(n, 0.0);  // K shift
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) mean[j] += shift_[i] * prior[i * n + j];
  dual_ = shift_;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) dual_[j] -= mean[i] * shrink_[i * n + j];
}

double SuccessClassifier::log_probability(std::span<const double> point, std::span<double> gradient) const {
  const std::size_t n = inputs_.size();
  std::vector<double> k(n);
  std::vector<double> slopes(n);
  matern_correlations(inputs_, weights_, point, k, slopes);
  for (double& entry : k) entry = kLevelVariance + scale_ * entry;
  std::vector<double> shrunk(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double* row = &shrink_[i * n];
    for (std::size_t j = 0; j < n; ++j) shrunk[j] += k[i] * row[j];
  }
  const double mean = std::inner_product(k.begin(), k.end(), dual_.begin(), 0.0);
  const double explained = std::inner_product(k.begin(), k.end(), shrunk.begin(), 0.0);
  const double variance = std::max(0.0, kLevelVariance + scale_ - explained);
  const double deviation = std::sqrt(1 + variance);
  const double z = mean / deviation;
  const LogNormalCdf at = log_normal_cdf(z);
  if (!gradient.empty()) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    const std::size_t dimensions = inputs_.parameters;
    for (std::size_t i = 0; i < n; ++i) {
      // z = mean / deviation, d deviation = -(shrunk' dk) / deviation
      const double by_k = at.slope * (dual_[i] + z * shrunk[i] / deviation) / deviation;
      const double by_square = by_k * scale_ * slopes[i];
      const double* other = &inputs_.points[i * dimensions];
      for (std::size_t d = 0; d < dimensions; ++d)
        if (!inputs_.choice[d]) gradient[d] += by_square * 2 * weights_[d] * (point[d] - other[d]);
    }
  }
  return at.value;
}

double SuccessClassifier::length(std::size_t parameter) const {
  return 1 / std::sqrt(weights_[parameter]);
}

}  // namespace nadi::inline tuning
