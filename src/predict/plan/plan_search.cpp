#include "nadi/plan/plan_search.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/parallel/step_check.h"
#include "nadi/plan/search_core.h"

namespace nadi::inline predict {

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

double objective_of(PlanObjective objective, const RankedPlan& plan) {
  const double estimated = objective_of(objective, plan.estimate);
  if (objective == PlanObjective::kMemory || !plan.simulated || plan.estimate.iteration.count() == 0)
    return estimated;
  return estimated * static_cast<double>(plan.simulated->count()) /
         static_cast<double>(plan.estimate.iteration.count());
}

namespace {

// Layers of all micro-batches that are simulated altogether: some seconds.
constexpr std::int64_t kMostSimulatedLayers = 400'000;

std::vector<std::int32_t> all_nodes(const Cluster& cluster) {
  std::vector<std::int32_t> nodes(cluster.kinds.size());
  for (const std::int32_t kind : cluster.nodes) ++nodes[static_cast<std::size_t>(kind)];
  return nodes;
}

void confirm(PlanAnswer& answer, const PlanQuestion& question, const SearchOptions& options,
             std::size_t most) {
  std::int64_t left = kMostSimulatedLayers;
  std::size_t confirmed = 0;
  for (; confirmed < std::min(most, answer.plans.size()); ++confirmed) {
    RankedPlan& plan = answer.plans[confirmed];
    const std::int64_t layers = question.config.layers * plan.candidate.plan.micro_batches;
    if ((confirmed > 0 && layers > left) || (options.stop && options.stop())) break;
    left -= layers;
    plan.simulated = simulate_plan(question, plan.candidate).iteration_time;
    ++answer.simulated;
  }
  const auto end = answer.plans.begin() + static_cast<std::ptrdiff_t>(confirmed);
  std::stable_sort(answer.plans.begin(), end, [&](const RankedPlan& a, const RankedPlan& b) {
    return objective_of(question.objective, a) < objective_of(question.objective, b);
  });
}

double dollars_per_million_tokens(const PlanQuestion& question, const PlanEstimate& estimate) {
  const double tokens = static_cast<double>(question.global_batch_size * question.request.seq_length);
  return estimate.dollars_per_step.value_or(0) / tokens * 1e6;
}

// Nothing keeps to the limits, or nothing fits in memory.
std::optional<NearestMiss> nearest_miss(const PlanQuestion& question, const SearchOptions& options) {
  SearchOptions quiet = options;
  quiet.every = {};
  PlanQuestion unlimited = question;
  unlimited.limits.dollars_per_million_tokens.reset();
  unlimited.limits.step_time.reset();
  if (question.limits.dollars_per_million_tokens || question.limits.step_time) {
    unlimited.objective =
        question.limits.dollars_per_million_tokens ? PlanObjective::kCost : PlanObjective::kTime;
    SearchCore core(unlimited, quiet, 1);
    const CoreAnswer answer = core.run({.nodes = all_nodes(question.cluster)});
    if (!answer.plans.empty()) {
      NearestMiss miss{.plan = answer.plans.front()};
      if (question.limits.dollars_per_million_tokens) {
        const double over = dollars_per_million_tokens(question, miss.plan.estimate) -
                            *question.limits.dollars_per_million_tokens;
        if (over > 0) miss.missing_dollars_per_million_tokens = over;
      }
      if (question.limits.step_time && miss.plan.estimate.iteration > *question.limits.step_time)
        miss.missing_time = miss.plan.estimate.iteration - *question.limits.step_time;
      return miss;
    }
  }
  SearchCore core(unlimited, quiet, 1);
  const auto nearest = core.nearest_in_memory({.nodes = all_nodes(question.cluster)});
  if (!nearest) return std::nullopt;
  return NearestMiss{.plan = *nearest, .missing_memory = nearest->estimate.missing_memory};
}

}  // namespace

PlanAnswer search_plans(const PlanQuestion& question, const SearchOptions& options) {
  const auto top = static_cast<std::size_t>(std::max<std::int64_t>(1, options.top));
  const auto confirmed = options.confirmed > 0 ? static_cast<std::size_t>(options.confirmed) : 2 * top;
  SearchCore core(question, options, std::max(top, confirmed));
  CoreAnswer found = core.run({.nodes = all_nodes(question.cluster)});
  PlanAnswer answer{.plans = std::move(found.plans),
                    .evaluated = found.evaluated,
                    .out_of_memory = found.out_of_memory,
                    .lower_bound = found.lower_bound,
                    .stopped = found.stopped};
  if (answer.plans.empty()) {
    answer.lower_bound = 0;
    if (!answer.stopped) answer.nearest = nearest_miss(question, options);
    return answer;
  }
  const double best = objective_of(question.objective, answer.plans.front().estimate);
  // Times are whole nanoseconds; what is left of a proof in other units is rounding.
  constexpr double kRounding = 1e-12;
  if (answer.lower_bound > best * (1 - kRounding)) answer.lower_bound = best;
  answer.gap = best > 0 ? (best - answer.lower_bound) / best : 0;
  confirm(answer, question, options, confirmed);
  if (answer.plans.size() > top) answer.plans.resize(top);
  return answer;
}

}  // namespace nadi::inline predict
