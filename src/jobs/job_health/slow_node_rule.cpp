// Which node is slower than the others that do the same work.
//
// Ranks of a training job wait for each other, so that the time of an iteration is the same everywhere. What
// tells a slow node is the time that its ranks compute: the timers forward-compute and backward-compute of
// each rank, where the log has them. Ranks of one pipeline stage do the same work (Megatron numbers ranks
// with the pipeline slowest); nodes with another kind of GPU are not compared. Where every node prints lines
// of its own and its own times, the medians of these are compared. Without either, the clocks of busy GPUs tell. Where
// many nodes agree closely, less than HealthLimits::slow_factor is much: kLeastFactor of the others, beyond their spread.
// After a requeue only nodes of the newest
// start are: those of earlier ones did other iterations, and may have been left out for a reason.
#include <algorithm>
#include <cmath>
#include <map>

#include "nadi/base/format.h"
#include "nadi/job_health/health_rules.h"
#include "nadi/job_log/log_text.h"

namespace nadi::inline jobs {
namespace {

std::optional<std::int64_t> printed_number(const JobLog& log, std::string_view variable,
                                           std::string_view argument) {
  for (const std::string_view name : {argument, variable})
    for (const NodeLog& node : log.nodes)
      if (const PrintedSetting* const setting = node.find_setting(name))
        if (const auto number = number_in<std::int64_t>(setting->value); number && *number > 0) return number;
  return std::nullopt;
}

std::string gpu_kind(const NodeLog& node) {
  for (const DeviceLog& device : node.devices)
    if (device.kind == DeviceLog::Kind::kGpu) return device.name;
  return "";
}

struct NodeTime {
  const NodeLog* node = nullptr;
  double seconds = 0;
  std::int64_t ranks = 0;
};

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool is_slow(double time, double usual, std::vector<double> others, const HealthLimits& limits) {
  if (time >= limits.slow_factor * usual) return true;
  constexpr std::size_t kManyNodes = 3;
  constexpr double kLeastFactor = 1.08, kSpreads = 6;
  if (others.size() < kManyNodes || time < kLeastFactor * usual) return false;
  for (double& other : others) other = std::abs(other - usual);
  return time - usual >= kSpreads * median_of(std::move(others));
}

// Adds the slow ones among nodes that do the same work.
void judge(const std::vector<NodeTime>& times, std::string_view what, const HealthLimits& limits,
           HealthFindings& findings) {
  constexpr std::size_t kLeastNodes = 2;
  if (times.size() < kLeastNodes) return;
  for (const NodeTime& time : times) {
    std::vector<double> others;
    for (const NodeTime& other : times)
      if (other.node != time.node) others.push_back(other.seconds);
    const double usual = median_of(others);
    if (usual <= 0 || !is_slow(time.seconds, usual, others, limits)) continue;
    findings.push_back(
        {.rule = HealthRule::kSlowNode,
         .severity = HealthSeverity::kWarning,
         .text = format("{} is slower than the others: {:.2f} times", time.node->name, time.seconds / usual),
         .evidence = {{.place = time.node->out.path.filename().string(),
                       .text = format("{}: {:.1f} ms, the median of {} other nodes {:.1f} ms", what,
                                      time.seconds * 1e3, others.size(), usual * 1e3)}},
         .nodes = {time.node->name}});
  }
}

// By the timers of ranks. False when the log does not have them, or does not say which rank is where.
bool judge_timers(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings) {
  if (!seen.timers) return false;
  std::map<std::int64_t, double> by_rank;
  for (const std::string_view name : {"forward-compute", "backward-compute"})
    if (const LoggedTimer* const timer = seen.timers->find(name))
      for (const LoggedRank& rank : timer->ranks)
        by_rank[rank.rank] += static_cast<double>(rank.time.count()) * 1e-9;
  if (by_rank.empty()) return false;
  const auto world = printed_number(seen.log, "WORLD_SIZE", "world_size");
  const std::int64_t stages =
      printed_number(seen.log, "PIPELINE_MP_SIZE", "pipeline_model_parallel_size").value_or(1);
  if (!world || *world % stages != 0) return false;
  // Ranks of a node are neighbours: with NODE_RANK and equal nodes, rank / (ranks of a node) is the node.
  std::map<std::int64_t, const NodeLog*> by_place;
  for (const NodeLog& node : seen.log.nodes)
    if (const PrintedSetting* const place = node.find_setting("NODE_RANK");
        place && is_of_newest_start(seen.log, node))
      if (const auto number = number_in<std::int64_t>(place->value)) by_place.emplace(*number, &node);
  const auto nodes = printed_number(seen.log, "NNODES", "");
  if (!nodes || *world % *nodes != 0) return false;
  const std::int64_t per_node = *world / *nodes, per_stage = *world / stages;
  std::map<std::pair<std::int64_t, std::string>, std::map<std::int64_t, NodeTime>>
      groups;  // by stage and kind, then place
  for (const auto& [rank, seconds] : by_rank) {
    const auto node = by_place.find(rank / per_node);
    if (node == by_place.end()) continue;
    NodeTime& time = groups[{rank / per_stage, gpu_kind(*node->second)}][node->first];
    time.node = node->second;
    time.seconds += seconds;
    ++time.ranks;
  }
  for (auto& [work, nodes_of_work] : groups) {
    std::vector<NodeTime> times;
    for (auto& [place, time] : nodes_of_work) {
      time.seconds /= static_cast<double>(time.ranks);
      times.push_back(time);
    }
    judge(times, format("forward and backward of a rank in iteration {}", seen.timers->iteration), limits,
          findings);
  }
  return true;
}

// By the clocks of busy GPUs: all wait for the node whose GPUs run slower.
void judge_clocks(const JobObservation& seen, HealthFindings& findings) {
  constexpr double kBusyPercent = 50, kLeastShare = 0.9;
  constexpr std::size_t kLeastSamples = 3, kLeastNodes = 3;
  struct NodeClock {
    const NodeLog* node = nullptr;
    double megahertz = 0;
  };
  std::map<std::string, std::vector<NodeClock>> kinds;
  for (const NodeLog& node : seen.log.nodes) {
    std::vector<double> clocks;
    for (const DeviceLog& device : node.devices)
      for (const DeviceSample& sample : device.recent)
        if (device.kind == DeviceLog::Kind::kGpu && sample.clock &&
            sample.utilisation.value_or(0) >= kBusyPercent)
          clocks.push_back(*sample.clock);
    if (clocks.size() >= kLeastSamples && is_of_newest_start(seen.log, node))
      kinds[gpu_kind(node)].push_back({.node = &node, .megahertz = median_of(std::move(clocks))});
  }
  for (const auto& [kind, nodes] : kinds) {
    if (nodes.size() < kLeastNodes) continue;
    for (const NodeClock& one : nodes) {
      std::vector<double> others;
      for (const NodeClock& other : nodes)
        if (other.node != one.node) others.push_back(other.megahertz);
      const double usual = median_of(others);
      if (one.megahertz > kLeastShare * usual) continue;
      findings.push_back(
          {.rule = HealthRule::kSlowNode,
           .severity = HealthSeverity::kWarning,
           .text = format("the GPUs of {} run at {:.0f} MHz, those of the others at {:.0f}", one.node->name,
                          one.megahertz, usual),
           .evidence = {{.place = one.node->gpu.path.filename().string(),
                         .text = format("median of its busy samples {:.0f} MHz, of {} other nodes {:.0f} MHz",
                                        one.megahertz, others.size(), usual)}},
           .nodes = {one.node->name}});
    }
  }
}

}  // namespace

void find_slow_nodes(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings) {
  if (judge_timers(seen, limits, findings)) return;
  constexpr std::size_t kWarmUp = 1, kLeastLines = 3, kNewest = 64;
  std::map<std::string, std::vector<NodeTime>> kinds;
  for (const NodeLog& node : seen.log.nodes) {
    if (node.points.empty() || !is_of_newest_start(seen.log, node)) continue;
    std::vector<double> seconds;
    const int start = node.points.back().start;
    for (std::size_t i = node.points.size();
         i-- > kWarmUp && seconds.size() < kNewest && node.points[i - 1].start == start;)
      if (const auto mean = node.points[i].mean())
        seconds.push_back(static_cast<double>(mean->count()) * 1e-9);
    if (seconds.size() >= kLeastLines)
      kinds[gpu_kind(node)].push_back({.node = &node, .seconds = median_of(seconds), .ranks = 1});
  }
  const std::size_t before = findings.size();
  for (const auto& [kind, times] : kinds) judge(times, "median of an iteration", limits, findings);
  if (findings.size() == before) judge_clocks(seen, findings);
}

}  // namespace nadi::inline jobs
