// Which node is slower than the others that do the same work.
//
// Ranks of a training job wait for each other, so that the time of an iteration is the same everywhere. What
// tells a slow node is the time that its ranks compute: the timers forward-compute and backward-compute of
// each rank, where the log has them. Ranks of one pipeline stage do the same work (Megatron numbers ranks
// with the pipeline slowest); nodes with another kind of GPU are not compared. Where every node prints lines
// of its own and its own times, the medians of these are compared. After a requeue only nodes of the newest
// start are: those of earlier ones did other iterations, and may have been left out for a reason.
#include <algorithm>
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
    if (usual <= 0 || time.seconds < limits.slow_factor * usual) continue;
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
  for (const auto& [kind, times] : kinds) judge(times, "median of an iteration", limits, findings);
}

}  // namespace nadi::inline jobs
