#include "nadi/plan/plan_front.h"

#include <algorithm>

namespace nadi::inline predict {

ConfirmedFront confirmed_front(const PlanQuestion& question, std::vector<RankedPlan> plans,
                               const std::function<bool(std::int64_t, std::int64_t)>& go_on) {
  std::int64_t done = 0;
  for (RankedPlan& plan : plans) {
    if (!go_on(done++, std::ssize(plans))) break;
    if (!plan.simulated) plan.simulated = simulate_plan(question, plan.candidate).iteration_time;
  }
  const auto time = [](const RankedPlan& plan) { return plan.simulated.value_or(plan.estimate.iteration); };
  std::ranges::stable_sort(plans, {}, time);
  ConfirmedFront front;
  std::optional<double> least;
  for (RankedPlan& plan : plans) {
    const std::optional<double> hourly = dollars_per_hour(question.cluster, plan.candidate.nodes);
    const double dollars = hourly.value_or(0) * static_cast<double>(time(plan).count());
    const bool better = hourly && (!least || dollars < *least);
    if (better) least = dollars;
    (better ? front.best : front.behind).push_back(std::move(plan));
  }
  return front;
}

}  // namespace nadi::inline predict
