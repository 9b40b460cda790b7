// Finds the best plans for a model on a cluster.
//
//   const PlanAnswer answer = search_plans(question, {.top = 10, .threads = 2});
//   answer.plans[0].candidate.plan, answer.plans[0].simulated
//
// The best candidates by estimate are confirmed by the simulator and ranked by it. The answer is the same on
// any number of threads. A search that is stopped gives the best that it has, and how far from the best it
// may be at most.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/plan/plan_candidate.h"
#include "nadi/plan/plan_estimate.h"
#include "nadi/plan/plan_question.h"

namespace nadi::inline predict {

struct RankedPlan {
  PlanCandidate candidate;
  PlanEstimate estimate;
  std::optional<Nanoseconds> simulated = {};  // step time by the simulator; nullopt means not confirmed
};

struct SearchProgress {
  std::int64_t done = 0, total = 0;  // parts of the space
  std::int64_t evaluated = 0;        // plans
  std::optional<Nanoseconds> best = {};
};

struct SearchOptions {
  std::int64_t top = 10;
  int threads = 1;
  std::int64_t confirmed = 0;  // candidates that are simulated; 0 means twice `top`
  std::int64_t effort = 1;     // work for proofs, in times of the usual; 0 means until all is proven
  bool proves_little = false;  // a tenth of that: where a good plan is wanted, and nobody asks for its gap
  bool proves_front = false;   // of search_fleet(): with the effort of a search_plans() for each mix on it
  std::function<void(const SearchProgress&)> progress = {};
  std::function<bool()> stop = {};  // true: end with what there is; asked by all threads
  // Called with every plan that was evaluated, in an order that does not depend on threads. Plans that cannot
  // be among the best are not evaluated.
  std::function<void(const PlanCandidate&, const PlanEstimate&)> every = {};
};

// How a search that found nothing that fits came nearest.
struct NearestMiss {
  RankedPlan plan;
  Bytes missing_memory = {};  // on the fullest device
  std::optional<double> missing_dollars_per_million_tokens = {};
  std::optional<Nanoseconds> missing_time = {};
};

struct PlanAnswer {
  std::vector<RankedPlan> plans;  // best first; empty means nothing fits
  std::int64_t evaluated = 0;     // plans with an estimate of their own
  std::int64_t out_of_memory = 0;
  std::int64_t simulated = 0;
  // No plan of the space has an objective below this, by estimate: seconds, dollars or bytes.
  double lower_bound = 0;
  double gap = 0;  // (best estimate - lower_bound) / best estimate; 0 means proven best
  bool stopped = false;
  std::optional<NearestMiss> nearest = {};  // where nothing fits
};

PlanAnswer search_plans(const PlanQuestion& question, const SearchOptions& options);

// What is compared: seconds, dollars (infinite where a price is missing) or bytes.
double objective_of(PlanObjective objective, const PlanEstimate& estimate);
// The same as far as the simulator knows better: memory does not change, money goes with time.
double objective_of(PlanObjective objective, const RankedPlan& plan);

}  // namespace nadi::inline predict
