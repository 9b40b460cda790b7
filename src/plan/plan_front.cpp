#include "nadi/plan/plan_front.h"

#include <algorithm>
#include <cmath>

#include "nadi/plan/plan_confirmation.h"

namespace nadi {

bool PlanFront::within_limits(const PlanEstimate& estimate) const {
  if (limits_.step_time && estimate.iteration > *limits_.step_time) return false;
  return !limits_.dollars_per_million_tokens ||
         *estimate.dollars_per_step <=
             *limits_.dollars_per_million_tokens * static_cast<double>(tokens_) * 1e-6;
}

PlanFront::Cell PlanFront::cell_of(const PlanEstimate& estimate) const {
  const auto step = [&](double value) {
    return static_cast<std::int64_t>(std::floor(std::log(std::max(value, 1e-300)) * cells_per_factor_of_e_));
  };
  return {step(static_cast<double>(estimate.iteration.count())), step(*estimate.dollars_per_step)};
}

void PlanFront::keep_behind(const PlanCandidate& candidate, const PlanEstimate& estimate) {
  const Cell cell = cell_of(estimate);
  if (behind_.contains(cell)) return;
  behind_.emplace(cell, RankedPlan{.candidate = candidate, .estimate = estimate});
  while (behind_.size() > kMostBehind) {
    cells_per_factor_of_e_ /= 2;
    std::map<Cell, RankedPlan> coarser;
    for (auto& [old, kept] : behind_) {
      const Cell wider = cell_of(kept.estimate);
      coarser.try_emplace(wider, std::move(kept));
    }
    behind_ = std::move(coarser);
  }
}

void PlanFront::add(const PlanCandidate& candidate, const PlanEstimate& estimate) {
  if (!estimate.fits()) return;
  if (!estimate.dollars_per_step) {
    ++without_price_;
    return;
  }
  if (!within_limits(estimate)) return;
  ++taken_;
  const auto time = [](const RankedPlan& plan) { return plan.estimate.iteration; };
  const auto dollars = [](const RankedPlan& plan) { return *plan.estimate.dollars_per_step; };
  // The first that is slower. The one before it is the cheapest of those that are as fast or faster.
  auto slower = std::ranges::upper_bound(best_, estimate.iteration, {}, time);
  if (slower != best_.begin() && dollars(*std::prev(slower)) <= *estimate.dollars_per_step) {
    keep_behind(candidate, estimate);
    return;
  }
  // One that is just as fast, and dearer, goes, too.
  if (slower != best_.begin() && time(*std::prev(slower)) == estimate.iteration) --slower;
  auto cheaper = slower;
  for (; cheaper != best_.end() && dollars(*cheaper) >= *estimate.dollars_per_step; ++cheaper)
    keep_behind(cheaper->candidate, cheaper->estimate);
  best_.insert(best_.erase(slower, cheaper), RankedPlan{.candidate = candidate, .estimate = estimate});
}

std::vector<RankedPlan> PlanFront::behind() const {
  std::vector<RankedPlan> plans;
  for (const auto& [cell, plan] : behind_) plans.push_back(plan);
  std::ranges::stable_sort(plans, {}, [](const RankedPlan& plan) { return plan.estimate.iteration; });
  return plans;
}

ConfirmedFront confirmed_front(const PlanQuestion& question, std::vector<RankedPlan> estimated,
                               const std::function<bool(std::int64_t, std::int64_t)>& go_on) {
  std::int64_t done = 0;
  for (RankedPlan& plan : estimated) {
    if (!go_on(done++, std::ssize(estimated))) break;
    if (!plan.simulated) plan.simulated = simulate_plan(question, plan.candidate).iteration_time;
  }
  const auto time = [](const RankedPlan& plan) { return plan.simulated.value_or(plan.estimate.iteration); };
  std::ranges::stable_sort(estimated, {}, time);
  ConfirmedFront front;
  std::optional<double> least;
  for (RankedPlan& plan : estimated) {
    const std::optional<double> hourly = dollars_per_hour(question.cluster, plan.candidate.nodes);
    const double dollars = hourly.value_or(0) * static_cast<double>(time(plan).count());
    const bool better = hourly && (!least || dollars < *least);
    if (better) least = dollars;
    (better ? front.best : front.behind).push_back(std::move(plan));
  }
  return front;
}

}  // namespace nadi
