// Finds a local minimum of a smooth function in a box, by its gradient.
//
//   std::vector<double> x{0.5, 0.5};
//   const double least = minimize_in_box(function, lower, upper, x, {.iterations = 50});
//
// The method is L-BFGS with projection: variables that stand at a bound and would leave the box are held, the
// rest takes the quasi-Newton direction, steps are cut back until the function falls enough. No randomness,
// no state.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace nadi::inline tuning {

struct MinimizeOptions {
  int iterations = 50;
  int memory = 8;
  double tolerance = 1e-6;  // ends when an iteration changes the function by less than this
};

// Writes the gradient to its second argument and returns the value; infinite or NaN is a point that is
// refused.
using DifferentiableFunction = std::function<double(std::span<const double>, std::span<double>)>;

// Moves `x`, which is put into the box first, and returns the value there.
double minimize_in_box(const DifferentiableFunction& function, std::span<const double> lower,
                       std::span<const double> upper, std::vector<double>& x, const MinimizeOptions& options);

}  // namespace nadi::inline tuning
