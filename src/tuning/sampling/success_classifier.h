// The probability that a trial at a point succeeds, learned from trials that did and trials that failed.
//
//   const SuccessClassifier classifier = SuccessClassifier::fit(inputs, success);
//   classifier.log_probability(point, gradient);
//
// A Gaussian process for classification: a hidden function f with Matern's covariance (matern_kernel.h),
// success with probability cdf(f), and expectation propagation for what the trials say about f (Rasmussen and
// Williams, Gaussian processes for machine learning, 2006, chapter 3). A point between a success and a
// failure has a probability between theirs; far from all trials it is the prior's; deep among failures it is
// small enough that no expected improvement outweighs it. The last is why the outcomes are not fitted by
// regression, where a value that is at most 1 cannot tell "failed beside failures" from "failed once", and
// why Laplace's approximation does not do: it leaves a tenth there.
//
// Lengths begin with those of a regression on the outcomes, which finds out what a failure depends on; the
// scale of f and a factor of the lengths are those with the largest evidence.
#pragma once

#include <span>
#include <vector>

#include "nadi/sampling/matern_kernel.h"

namespace nadi::inline tuning {

class SuccessClassifier {
 public:
  // At least one success and one failure.
  static SuccessClassifier fit(GaussianInputs inputs, const std::vector<bool>& success);

  // Writes the gradient by the numeric parameters where the span is not empty; 0 for choices.
  double log_probability(std::span<const double> point, std::span<double> gradient) const;

  double log_evidence() const { return log_evidence_; }
  double length(std::size_t parameter) const;
  double scale() const { return scale_; }  // variance of f

 private:
  // Moves the sites to their fixed point, with the weights and scale as they are.
  void propagate(const std::vector<bool>& success);
  void prepare();  // what predictions need
  std::vector<double> covariance() const;

  GaussianInputs inputs_;
  std::vector<double> weights_;  // 1 / length^2
  double scale_ = 1;
  double log_evidence_ = 0;
  // What each trial says about f there, as a normal: its precision, and that times its mean.
  std::vector<double> precision_;
  std::vector<double> shift_;
  std::vector<double> dual_;    // the mean at k is k'dual
  std::vector<double> shrink_;  // symmetric: the variance at k is prior - k' shrink k
};

}  // namespace nadi::inline tuning
