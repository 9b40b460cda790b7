#include "nadi/plan/speed_bound.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "nadi/parallel/step_check.h"
#include "nadi/plan/setting_search.h"

namespace nadi::inline predict {

SpeedBound::SpeedBound(const PlanQuestion& question, PlanEstimator& estimator)
    : question_(question), estimator_(estimator) {}

double SpeedBound::layer_time(const PlanSetting& setting, std::int32_t kind) {
  const std::int32_t devices = question_.cluster.kinds[static_cast<std::size_t>(kind)].devices;
  if (setting.plan.tp > devices ||
      std::ranges::find(question_.cluster.nodes, kind) == question_.cluster.nodes.end())
    return 0;
  PlanSetting alone = setting;
  alone.plan = {.tp = setting.plan.tp,
                .sequence_parallel = setting.plan.sequence_parallel,
                .micro_batches = question_.global_batch_size / setting.micro_batch_size};
  if (question_.global_batch_size % setting.micro_batch_size != 0) return 0;
  const PlanCandidate candidate = candidate_of(
      alone, {{.kind = kind, .count = 1, .devices = static_cast<std::int32_t>(setting.plan.tp)}});
  if (why_infeasible(question_.config, request_of(question_, candidate), candidate.plan)) return 0;
  const PlanTables& tables = estimator_.tables(candidate);
  const auto& [forward, backward, layers] = tables.chunks.front();
  double least = std::numeric_limits<double>::infinity();
  const std::int64_t none = forward[0].run.count() + backward[0].run.count();
  for (std::size_t l = 1; l < forward.size(); ++l)
    least = std::min(least, static_cast<double>(forward[l].run.count() + backward[l].run.count() - none) /
                                static_cast<double>(l));
  return std::max(0.0, least);
}

const std::vector<double>& SpeedBound::layer_times(const PlanSetting& setting) {
  const auto [found, added] = known_.try_emplace(
      Key{setting.plan.tp, setting.micro_batch_size, setting.plan.sequence_parallel,
          setting.recompute.granularity, setting.recompute.method, setting.recompute.layers});
  if (added)
    for (std::int32_t kind = 0; kind < std::ssize(question_.cluster.kinds); ++kind)
      found->second.push_back(layer_time(setting, kind));
  return found->second;
}

double SpeedBound::waits_of(const Plan& plan) const {
  if (plan.virtual_stages == 1) return plan.schedule == ScheduleKind::k1F1B ? 1 : 0;
  const std::int64_t chunks = plan.pp * plan.virtual_stages;
  const std::int64_t few = question_.space.few_partitions;
  const bool spread = partitions_up_to(question_.config.layers, chunks, few) == few;
  return spread && given_partition(question_, plan).empty() ? 1 / static_cast<double>(plan.virtual_stages)
                                                            : 0;
}

std::int64_t SpeedBound::of(const PlanSetting& setting, std::span<const std::int32_t> nodes) {
  const std::vector<double>& times = layer_times(setting);
  std::vector<std::size_t> kinds;
  for (std::size_t kind = 0; kind < nodes.size(); ++kind) {
    if (nodes[kind] == 0) continue;
    if (times[kind] <= 0) return 0;
    kinds.push_back(kind);
  }
  if (kinds.empty()) return 0;
  std::ranges::stable_sort(kinds, {}, [&](std::size_t kind) { return times[kind]; });
  // The fastest kinds first. A stage that is made of several kinds is as slow as the slowest; it counts as
  // one of the fastest here.
  const auto count = static_cast<double>(setting.plan.micro_batches);
  // The part of a stage's time that the next stage waits for at both ends.
  const double waits = waits_of(setting.plan);
  double speed = 0;  // layers per nanosecond
  double weight = 1;
  std::int64_t stages = setting.plan.pp;
  const auto add = [&](double layer_time, std::int64_t held) {
    for (std::int64_t i = 0; i < held; ++i) {
      speed += weight / layer_time;
      weight *= 1 - waits / count;
    }
    stages -= held;
  };
  std::int64_t whole = 0;
  std::vector<std::int64_t> held_by_kind;
  for (const std::size_t kind : kinds) {
    const std::int64_t devices = question_.cluster.kinds[kind].devices, ranks = setting.ranks_per_stage();
    held_by_kind.push_back(std::min(
        stages - whole, ranks <= devices ? nodes[kind] * (devices / ranks) : nodes[kind] * devices / ranks));
    whole += held_by_kind.back();
  }
  add(times[kinds.front()], stages - whole);
  for (std::size_t i = 0; i < kinds.size(); ++i) add(times[kinds[i]], held_by_kind[i]);
  const auto layers = static_cast<double>(question_.config.layers);
  const double through = layers * times[kinds.front()];
  double step = std::max(count * layers / speed, through);
  if (setting.plan.virtual_stages == 1 && setting.plan.schedule == ScheduleKind::kGPipe)
    step = std::max(step, through + (count - 1) * layers / speed);
  return static_cast<std::int64_t>(step * (1 - 1e-9));
}

std::int64_t SpeedBound::of_grid(const PlanSetting& grid, std::span<const std::int32_t> nodes) {
  // Recomputation takes time; whether sequence parallelism does depends on the network.
  PlanSetting setting = grid;
  if (!question_.space.recompute.empty()) setting.recompute = question_.space.recompute.front();
  const std::vector<ScheduleKind>& schedules = question_.space.schedules;
  const bool asked =
      schedules.empty() || std::ranges::find(schedules, ScheduleKind::kInterleaved) != schedules.end();
  const bool interleaves = asked && grid.plan.pp > 1 && grid.plan.micro_batches % grid.plan.pp == 0;
  if (interleaves) {
    setting.plan.schedule = ScheduleKind::kInterleaved;
    // More chunks wait less, but for few the layers may be anywhere.
    setting.plan.virtual_stages = 2;
    if (waits_of(setting.plan) > 0) {
      std::int64_t most = std::max<std::int64_t>(2, question_.config.layers / grid.plan.pp);
      for (const std::int64_t count : question_.space.virtual_stages) most = std::max(most, count);
      setting.plan.virtual_stages = most;
    }
  }
  std::int64_t least = of(setting, nodes);
  for (const Recompute& recompute : question_.space.recompute) {
    setting.recompute = recompute;
    least = std::min(least, of(setting, nodes));
  }
  if (setting.plan.tp > 1) {
    setting.plan.sequence_parallel = true;
    least = std::min(least, of(setting, nodes));
  }
  return least;
}

}  // namespace nadi::inline predict
