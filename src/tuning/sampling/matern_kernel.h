// Matern's covariance of order 5/2 over points of a search space, with a length for each parameter.
//
// Inputs are numbers in [0, 1] for numeric parameters and indices for choices; two different choices are at
// distance 1.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace nadi::inline tuning {

struct GaussianInputs {
  std::size_t parameters = 0;
  std::vector<bool> choice = {};    // of each parameter
  std::vector<double> points = {};  // row by row

  std::size_t size() const { return parameters == 0 ? 0 : points.size() / parameters; }
  std::span<const double> row(std::size_t i) const {
    return std::span(points).subspan(i * parameters, parameters);
  }
};

// Correlation at squared distance `square`, and its derivative by that.
struct MaternAt {
  double value;
  double slope;
};

inline MaternAt matern(double square) {
  constexpr double kRootFive = 2.2360679774997896964;
  const double r = kRootFive * std::sqrt(square);
  const double decay = std::exp(-r);
  return {(1 + r + r * r / 3) * decay, -5.0 / 6.0 * (1 + r) * decay};
}

// Correlations of a point with all inputs, and their derivatives by the squared distances. `weights` are
// 1 / length^2.
void matern_correlations(const GaussianInputs& inputs, std::span<const double> weights,
                         std::span<const double> point, std::span<double> out, std::span<double> slopes);

}  // namespace nadi::inline tuning
