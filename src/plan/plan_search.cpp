#include "nadi/plan/plan_search.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/parallel/step_check.h"
#include "nadi/plan/plan_confirmation.h"

namespace nadi {

double objective_of(PlanObjective objective, const PlanEstimate& estimate) {
  switch (objective) {
    case PlanObjective::kTime:
      return static_cast<double>(estimate.iteration.count()) * 1e-9;
    case PlanObjective::kCost:
      return estimate.dollars_per_step.value_or(std::numeric_limits<double>::infinity());
    case PlanObjective::kMemory: {
      Bytes most;
      for (const StageEstimate& stage : estimate.stages) most = std::max(most, stage.memory);
      return static_cast<double>(most.count());
    }
  }
  unreachable();
}

PlanAnswer search_plans(const PlanQuestion& question, const SearchOptions& options) {
  PlanAnswer answer;
  PlanEstimator estimator(question);
  const std::int64_t devices = question.cluster.device_count();
  for (std::int64_t tp = 1; tp <= devices; tp *= 2)
    for (std::int64_t pp = 1; tp * pp <= devices; pp *= 2) {
      PlanCandidate candidate{.plan = {.tp = tp, .dp = devices / (tp * pp), .pp = pp},
                              .nodes = nodes_in_order(question.cluster)};
      if (candidate.plan.world_size() != devices || question.global_batch_size % candidate.plan.dp != 0)
        continue;
      candidate.plan.micro_batches = question.global_batch_size / candidate.plan.dp;
      candidate.plan.partition = resolved_partition(question.config, candidate.plan);
      if (why_infeasible(question.config, request_of(question, candidate), candidate.plan)) continue;
      const PlanEstimate estimate = estimator.of(candidate);
      ++answer.evaluated;
      if (options.every) options.every(candidate, estimate);
      if (estimate.fits())
        answer.plans.push_back(
            {.candidate = candidate, .estimate = estimate, .simulated = estimate.iteration});
      else
        ++answer.out_of_memory;
    }
  std::ranges::stable_sort(answer.plans, {}, [&](const RankedPlan& plan) {
    return objective_of(question.objective, plan.estimate);
  });
  if (std::ssize(answer.plans) > options.top) answer.plans.resize(static_cast<std::size_t>(options.top));
  return answer;
}

}  // namespace nadi
