// How much of the variation of an objective each parameter accounts for.
//
//   const std::vector<double> shares = parameter_importance(space, history, 0);   // sum 1; empty means too few
//   trials
//
// Functional analysis of variance (Hutter, Hoos, Leyton-Brown, "An efficient approach for assessing
// hyperparameter importance", 2014): a forest of regression trees is fitted to the complete trials, and each
// tree, a function that is constant on boxes, is integrated exactly over all parameters but one. The variance
// of what remains is what that parameter accounts for alone. Interactions count for no parameter; the shares
// are of the sum over single parameters.
#pragma once

#include <cstddef>
#include <vector>

#include "nadi/sampling/search_space.h"
#include "nadi/sampling/trial_history.h"

namespace nadi::inline tuning {

// One share for each parameter of the space, for objective `objective`. Empty with fewer than 4 complete
// trials, or when their values are all equal. Of long histories 1,000 trials are used, evenly spread.
std::vector<double> parameter_importance(const SearchSpace& space, const TrialHistory& history,
                                         std::size_t objective);

}  // namespace nadi::inline tuning
