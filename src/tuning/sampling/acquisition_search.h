// Finds the point of a space where an acquisition function is largest, over mixed parameters.
//
//   const std::optional<std::vector<double>> best = maximize_acquisition(problem, random);
//
// Candidates over the whole space and around the best trials are rated; the best few climb: parameters that
// are continuous, or nearly so, by the gradient, the others by trying neighbours one parameter at a time.
// Only valid points are considered.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "nadi/sampling/counted_random.h"
#include "nadi/sampling/point_pool.h"
#include "nadi/sampling/search_space.h"

namespace nadi::inline tuning {

// A point as a model sees it: a unit for a number, an index for a choice, 0.5 or -1 where not active.
std::vector<double> model_features(const SearchSpace& space, std::span<const double> point);

struct AcquisitionProblem {
  const SearchSpace& space;
  const PointPool& pool;
  const TriedPoints& tried;
  std::vector<std::vector<double>> best_points;  // of trials so far, the best first
  std::vector<double> lengths;                   // over which the model changes, in units, for each parameter

  // The function at model features; writes the gradient where the span is not empty. Larger is better.
  std::function<double(std::span<const double>, std::span<double>)> rate;

  int candidates = 300;
  int climbers = 5;
};

// Nothing when every valid point has been tried.
std::optional<std::vector<double>> maximize_acquisition(const AcquisitionProblem& problem,
                                                        CountedRandom& random);

}  // namespace nadi::inline tuning
