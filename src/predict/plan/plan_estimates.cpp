#include "nadi/plan/plan_estimates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "nadi/base/worker_threads.h"

namespace nadi::inline predict {
namespace {

// Plans with another one have no graph in common.
auto shape_of(const PlanCandidate& candidate) {
  return std::tuple(candidate.plan.tp, candidate.plan.cp, candidate.plan.sequence_parallel,
                    candidate.recompute.granularity, candidate.recompute.method, candidate.recompute.layers);
}

}  // namespace

std::vector<PlanEstimate> estimates_of(const PlanQuestion& question, std::span<const PlanCandidate> plans,
                                       int threads) {
  using PlanShape = decltype(shape_of(plans[0]));
  std::map<PlanShape, std::vector<std::size_t>> by_shape;
  for (std::size_t i = 0; i < plans.size(); ++i) by_shape[shape_of(plans[i])].push_back(i);
  std::vector<const std::vector<std::size_t>*> shapes;
  for (const auto& [shape, list] : by_shape) shapes.push_back(&list);
  // The long ones first, so that threads end at about the same time.
  std::ranges::stable_sort(shapes, std::ranges::greater{}, [](const auto* list) { return list->size(); });

  std::vector<PlanEstimate> estimates(plans.size());
  const auto used = static_cast<std::size_t>(std::max(threads, 1));
  std::vector<std::optional<PlanEstimator>> estimators(used);
  parallel_for(shapes.size(), used, [&](std::size_t shape, std::size_t worker) {
    if (!estimators[worker]) estimators[worker].emplace(question);
    for (const std::size_t plan : *shapes[shape]) estimates[plan] = estimators[worker]->of(plans[plan]);
  });
  return estimates;
}

}  // namespace nadi::inline predict
