// Where a Gaussian process expects the largest improvement: for studies of some hundred trials at most.
//
//   propose_by_gaussian_process(question, random)   // nothing when there is too little to learn from
//
// One objective: the logarithm of the expected improvement. Several: each proposal weighs them anew, by
// weights that the trial's number draws, and takes the largest weighted distance from the best of each
// (Tchebycheff's scalarisation, as in ParEGO). Constraints are a second process whose probability to be met
// is a factor, and so is the probability to succeed where trials failed (success_classifier.h). Trials that
// still run count as if their expected value had been seen.
//
// In longer histories the better half of the model's points are the best trials, the others are spread over
// the rest.
#pragma once

#include <optional>
#include <vector>

#include "nadi/sampling/counted_random.h"
#include "nadi/sampling/point_pool.h"
#include "nadi/sampling/search_space.h"
#include "nadi/sampling/trial_history.h"

namespace nadi::inline tuning {

struct GaussianProcessQuestion {
  const SearchSpace& space;
  const PointPool& pool;
  const TriedPoints& tried;
  const TrialHistory& history;
  std::size_t most_points = 120;  // of the model
};

std::optional<std::vector<double>> propose_by_gaussian_process(const GaussianProcessQuestion& question,
                                                               CountedRandom& random);

}  // namespace nadi::inline tuning
