#include "nadi/sampling/projected_lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

namespace nadi::inline tuning {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Differences of the last iterations, and the two-loop recursion over them.
class CurvatureMemory {
 public:
  explicit CurvatureMemory(std::size_t limit) : limit_(limit) {}

  void add(std::vector<double> step, std::vector<double> change) {
    const double product = dot(step, change);
    if (!(product > 1e-12 * dot(change, change))) return;  // curvature must be positive
    pairs_.push_back({std::move(step), std::move(change), 1 / product});
    if (pairs_.size() > limit_) pairs_.pop_front();
  }

  void clear() { pairs_.clear(); }
  bool empty() const { return pairs_.empty(); }

  std::vector<double> apply(std::vector<double> vector) const {
    std::vector<double> weights(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      weights[i] = pairs_[i].inverse * dot(pairs_[i].step, vector);
      for (std::size_t k = 0; k < vector.size(); ++k) vector[k] -= weights[i] * pairs_[i].change[k];
    }
    if (!pairs_.empty()) {
      const Pair& last = pairs_.back();
      const double scale = 1 / (last.inverse * dot(last.change, last.change));
      for (double& entry : vector) entry *= scale;
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const double weight = weights[i] - pairs_[i].inverse * dot(pairs_[i].change, vector);
      for (std::size_t k = 0; k < vector.size(); ++k) vector[k] += weight * pairs_[i].step[k];
    }
    return vector;
  }

 private:
  struct Pair {
    std::vector<double> step;
    std::vector<double> change;
    double inverse;
  };
  std::size_t limit_;
  std::deque<Pair> pairs_;
};

}  // namespace

double minimize_in_box(const DifferentiableFunction& function, std::span<const double> lower,
                       std::span<const double> upper, std::vector<double>& x,
                       const MinimizeOptions& options) {
  const std::size_t count = x.size();
  for (std::size_t i = 0; i < count; ++i) x[i] = std::clamp(x[i], lower[i], upper[i]);
  std::vector<double> gradient(count);
  double value = function(x, gradient);
  if (!std::isfinite(value)) return value;
  CurvatureMemory memory(static_cast<std::size_t>(options.memory));
  std::vector<double> next(count);
  std::vector<double> next_gradient(count);
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    std::vector<double> free_gradient = gradient;
    for (std::size_t i = 0; i < count; ++i) {
      const bool held = (x[i] <= lower[i] && gradient[i] > 0) || (x[i] >= upper[i] && gradient[i] < 0);
      if (held) free_gradient[i] = 0;
    }
    const double norm = std::sqrt(dot(free_gradient, free_gradient));
    if (!(norm > 1e-9)) break;
    std::vector<double> direction = memory.apply(free_gradient);
    for (std::size_t i = 0; i < count; ++i) direction[i] = free_gradient[i] == 0 ? 0 : -direction[i];
    double slope = dot(direction, free_gradient);
    if (!(slope < 0)) {
      memory.clear();
      for (std::size_t i = 0; i < count; ++i) direction[i] = -free_gradient[i];
      slope = -norm * norm;
    }
    double length = memory.empty() ? std::min(1.0, 0.1 * std::sqrt(static_cast<double>(count)) / norm) : 1.0;
    double next_value = value;
    bool accepted = false;
    for (int cut = 0; cut < 12; ++cut) {
      for (std::size_t i = 0; i < count; ++i)
        next[i] = std::clamp(x[i] + length * direction[i], lower[i], upper[i]);
      next_value = function(next, next_gradient);
      double moved = 0;  // along the gradient, after projection
      for (std::size_t i = 0; i < count; ++i) moved += gradient[i] * (next[i] - x[i]);
      if (std::isfinite(next_value) && next_value <= value + 1e-4 * moved && next_value < value) {
        accepted = true;
        break;
      }
      length *= 0.35;
    }
    if (!accepted) {
      if (memory.empty()) break;
      memory.clear();
      continue;
    }
    std::vector<double> step(count);
    std::vector<double> change(count);
    for (std::size_t i = 0; i < count; ++i) {
      step[i] = next[i] - x[i];
      change[i] = next_gradient[i] - gradient[i];
    }
    memory.add(std::move(step), std::move(change));
    const double fall = value - next_value;
    x = next;
    gradient = next_gradient;
    value = next_value;
    if (fall < options.tolerance) break;
  }
  return value;
}

}  // namespace nadi::inline tuning
