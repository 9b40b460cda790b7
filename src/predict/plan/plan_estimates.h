// Estimates of a list of plans on several threads.
//
//   const std::vector<PlanEstimate> estimates = estimates_of(question, candidates, 2);
//
// What takes most of the time of a few plans is building the graphs of their parts. Plans that have graphs in
// common go to the same thread, each of which has an estimator of its own; the estimates are those of
// PlanEstimator::of(), in the order of the list.
#pragma once

#include <span>
#include <vector>

#include "nadi/plan/plan_candidate.h"
#include "nadi/plan/plan_estimate.h"
#include "nadi/plan/plan_question.h"

namespace nadi::inline predict {

// Every plan fits the model: why_infeasible() has nothing against it.
std::vector<PlanEstimate> estimates_of(const PlanQuestion& question, std::span<const PlanCandidate> plans,
                                       int threads);

}  // namespace nadi::inline predict
