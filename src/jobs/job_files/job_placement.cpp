#include "nadi/job_files/job_placement.h"

#include <algorithm>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/plan/device_runs.h"

namespace nadi::inline jobs {
namespace {

void place_without_cluster(JobFile& job, std::int64_t ranks) {
  if (job.groups.size() > 1) {
    if (job.ranks() != ranks)
      throw usage_error(
          format("the plan has {} ranks, and the groups of the job have {}", ranks, job.ranks()));
    return;
  }
  JobNodes& nodes = job.groups[0];
  // One node may hold fewer ranks than it has room for.
  if (ranks < nodes.ranks_per_node) nodes.ranks_per_node = ranks;
  if (ranks % nodes.ranks_per_node != 0)
    throw usage_error(format("the plan has {} ranks, and they do not divide over nodes of {} ranks", ranks,
                             nodes.ranks_per_node),
                      "\"ranks_per_node\", or a plan for a cluster");
  nodes.nodes = ranks / nodes.ranks_per_node;
}

std::string kinds_text(const Cluster& cluster, const std::vector<NodeRanks>& nodes) {
  std::set<std::string> names;
  for (const NodeRanks& node : nodes) names.insert(cluster.kinds[static_cast<std::size_t>(node.kind)].name);
  return format("{}", fmt::join(names, ", "));
}

// What the job says about nodes of this kind.
const JobNodes& settings_of(const JobFile& job, const NodeSpec& kind, bool only_kind) {
  const auto own = std::ranges::find(job.groups, kind.name, &JobNodes::kind);
  if (own != job.groups.end()) return *own;
  if (only_kind && job.groups.size() == 1 && job.groups[0].kind.empty()) return job.groups[0];
  throw usage_error(
      format("the plan takes nodes '{}', and the job does not say what these are", kind.name),
      format("\"groups\": [{{\"kind\": \"{}\", \"partition\": ..., \"constraint\": ...}}, ...]", kind.name));
}

}  // namespace

void place_by_plan(JobFile& job, const PlanFile& plan, const Cluster* cluster) {
  if (cluster == nullptr) return place_without_cluster(job, plan.plan.world_size());
  const std::vector<NodeRanks> nodes = nodes_in_order_of_ranks(*cluster, placed_devices(plan));
  if (job.scheduler == SchedulerKind::kLocal) {
    job.groups[0].nodes = 1;
    job.groups[0].ranks_per_node = plan.plan.world_size();
    return;
  }
  std::set<std::int32_t> seen, kinds;
  for (const NodeRanks& node : nodes) {
    kinds.insert(node.kind);
    if (!seen.insert(node.node).second)
      throw Error(
          ErrorKind::kInfeasible, {},
          format("the ranks of node {} of {} do not follow one another in the plan; Slurm numbers ranks "
                 "node by node",
                 node.node, cluster->name),
          "plan again with fewer ranks of a stage on a node, or edit \"devices\" of the plan");
  }
  std::vector<JobNodes> groups;
  std::int32_t last_kind = -1;
  for (const NodeRanks& node : nodes) {
    const NodeSpec& kind = cluster->kinds[static_cast<std::size_t>(node.kind)];
    if (node.kind == last_kind && groups.back().ranks_per_node == node.ranks) {
      groups.back().nodes += 1;
      continue;
    }
    JobNodes group = settings_of(job, kind, kinds.size() == 1);
    group.kind = kind.name;
    group.nodes = 1;
    group.ranks_per_node = node.ranks;
    const DeviceSpec& device = cluster->devices[static_cast<std::size_t>(kind.device)];
    if (device.type == DeviceType::kGpu && group.gpus_per_node < node.ranks) group.gpus_per_node = node.ranks;
    groups.push_back(std::move(group));
    last_kind = node.kind;
  }
  for (const JobNodes& group : job.groups)
    if (!group.kind.empty() &&
        std::ranges::none_of(groups, [&](const JobNodes& placed) { return placed.kind == group.kind; }))
      throw usage_error(
          format("the job has a group of nodes '{}', and the plan takes none of them", group.kind),
          format("nodes of the plan: {}", kinds_text(*cluster, nodes)));
  job.groups = std::move(groups);
}

}  // namespace nadi::inline jobs
