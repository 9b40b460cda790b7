// How unevenly experts are assumed to be busy, before a step runs: an input of its cost.
//
//   busiest_rank(config, plan, {.zipf = 1.1})    // 1.9: the busiest rank has 1.9 times the mean of rows
//
// Under Zipf's law the n-th of the experts has 1 / n^exponent of what the first has; which expert is the n-th is a fixed
// shuffle of their numbers. Measured loads are tokens per expert, of each layer that has experts: the mean over these counts.
// A step waits for its busiest rank, so costs are those of that rank, on every rank.
#pragma once

#include <vector>

#include "nadi/model/expert_options.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

struct ModelConfig;

// Rows of the busiest expert-parallel rank over the mean; 1 where loads are balanced. Error (input) for measured loads of another
// number of experts.
double busiest_rank(const ModelConfig& config, const Plan& plan, const ExpertLoad& load);

}  // namespace nadi::inline describe
