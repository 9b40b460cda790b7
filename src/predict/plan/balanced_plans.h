// Every plan that takes all of some nodes, with layers divided so that the slowest stage is as fast as it can
// be: the plans that a planner without bounds looks at, one after the other.
//
//   BalancedPlans plans(question);
//   const BalancedPlans::Found found = plans.run(nodes, every, stop);      // every(candidate, estimate)
//
// All settings (plan_space.h) with one virtual stage that can use all of the nodes, each in the orders in
// which nodes of a kind stand together (orders_of_runs()). A setting for which no partition fits in memory is
// left out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "nadi/plan/plan_estimate.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"

namespace nadi::inline predict {

class BalancedPlans {
 public:
  // The question must outlive this.
  explicit BalancedPlans(const PlanQuestion& question) : question_(question), estimator_(question) {}

  struct Found {
    std::optional<RankedPlan> fastest = {};
    std::int64_t evaluated = 0;
  };
  // `nodes` by kind.
  Found run(const std::vector<std::int32_t>& nodes,
            const std::function<void(const PlanCandidate&, const PlanEstimate&)>& every,
            const std::function<bool()>& stop);

 private:
  const PlanQuestion& question_;
  PlanEstimator estimator_;
};

// Layers by stage; empty means they do not fit. Each stage gets as many as it can run in the time that the slowest
// one takes, the later ones last.
std::vector<std::int64_t> balanced_partition(const PlanTables& tables);

}  // namespace nadi::inline predict
