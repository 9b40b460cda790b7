#include "nadi/plan/balanced_plans.h"

#include <algorithm>

#include "nadi/plan/placement_orders.h"
#include "nadi/plan/plan_space.h"
#include "nadi/plan/setting_search.h"

namespace nadi::inline predict {
namespace {

// Orders in which runs of equal nodes stand, of one setting: those of two kinds of eight nodes each are 16.
constexpr std::size_t kMostRunOrders = 24;

std::int64_t stage_time(const PlanTables& tables, std::size_t stage, std::int64_t layers) {
  const auto at = static_cast<std::size_t>(layers);
  const PassTimes &forward = tables.chunks[stage].forward[at], &backward = tables.chunks[stage].backward[at];
  return (std::max(forward.run, forward.launch) + std::max(backward.run, backward.launch)).count();
}

// The most layers for which `holds` does, which holds for fewer where it holds for more; -1 means for none.
template <typename Holds>
std::int64_t most_layers(std::int64_t layers, const Holds& holds) {
  std::int64_t least = -1, most = layers;
  while (least < most) {
    const std::int64_t middle = (least + most + 1) / 2;
    if (holds(middle))
      least = middle;
    else
      most = middle - 1;
  }
  return least;
}

}  // namespace

std::vector<std::int64_t> balanced_partition(const PlanTables& tables) {
  const std::size_t stages = tables.stages.size();
  std::vector<std::int64_t> room(stages), partition(stages);
  std::int64_t slowest = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    const StageTable& stage = tables.stages[s];
    room[s] = most_layers(tables.layers, [&](std::int64_t layers) {
      return stage.capacity == Bytes{} || stage.memory[static_cast<std::size_t>(layers)] <= stage.capacity;
    });
    if (room[s] < 0) return {};
    slowest = std::max(slowest, stage_time(tables, s, room[s]));
  }
  const auto held = [&](std::int64_t time) {
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < stages; ++s) {
      partition[s] =
          most_layers(room[s], [&](std::int64_t layers) { return stage_time(tables, s, layers) <= time; });
      if (partition[s] < 0) return std::int64_t{-1};
      sum += partition[s];
    }
    return sum;
  };
  std::int64_t enough = slowest, less = 0;
  if (held(enough) < tables.layers) return {};
  while (enough - less > 1) {
    const std::int64_t middle = less + (enough - less) / 2;
    (held(middle) >= tables.layers ? enough : less) = middle;
  }
  std::int64_t extra = held(enough) - tables.layers;
  for (std::size_t s = stages; s-- > 0 && extra > 0;) {
    const std::int64_t fewer = std::min(extra, partition[s]);
    partition[s] -= fewer;
    extra -= fewer;
  }
  return partition;
}

BalancedPlans::Found BalancedPlans::run(
    const std::vector<std::int32_t>& nodes,
    const std::function<void(const PlanCandidate&, const PlanEstimate&)>& every,
    const std::function<bool()>& stop) {
  Found found;
  std::int64_t devices = 0;
  for (std::size_t kind = 0; kind < nodes.size(); ++kind)
    devices += nodes[kind] * question_.cluster.kinds[kind].devices;
  for (const PlanSetting& grid : plan_grids(question_, devices)) {
    if (stop && stop()) break;
    const StageMakes makes = stage_makes(question_, grid, nodes);
    const auto counts = node_counts(makes, nodes);
    if (std::ranges::find(counts, nodes) == counts.end()) continue;
    const std::vector<std::vector<std::int32_t>> orders = orders_of_runs(makes, nodes, kMostRunOrders);
    for (const PlanSetting& setting : settings_of(question_, grid)) {
      if (setting.plan.virtual_stages > 1) continue;
      for (const std::vector<std::int32_t>& order : orders) {
        PlanCandidate candidate = candidate_of(setting, runs_of(makes, order));
        const PlanTables& tables = estimator_.tables(candidate);
        std::vector<std::int64_t> given = given_partition(question_, setting.plan);
        candidate.plan.partition = given.empty() ? balanced_partition(tables) : std::move(given);
        if (candidate.plan.partition.empty()) continue;
        PlanEstimate estimate = estimator_.of(tables, candidate);
        ++found.evaluated;
        if (every) every(candidate, estimate);
        if (!estimate.fits() || (found.fastest && found.fastest->estimate.iteration <= estimate.iteration))
          continue;
        found.fastest = RankedPlan{.candidate = std::move(candidate), .estimate = std::move(estimate)};
      }
    }
  }
  return found;
}

}  // namespace nadi::inline predict
