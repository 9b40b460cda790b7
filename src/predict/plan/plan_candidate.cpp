#include "nadi/plan/plan_candidate.h"

#include "nadi/base/error.h"
#include "nadi/parallel/stage_programs.h"

namespace nadi::inline predict {

StepRequest request_of(const PlanQuestion& question, const PlanCandidate& candidate) {
  StepRequest request = question.request;
  request.kind = StepKind::kTrain;
  request.batch_size = question.global_batch_size / candidate.plan.dp;
  request.recompute = candidate.recompute;
  return request;
}

std::vector<NodeRun> nodes_in_order(const Cluster& cluster) {
  std::vector<NodeRun> runs;
  for (const std::int32_t kind : cluster.nodes) {
    if (runs.empty() || runs.back().kind != kind)
      runs.push_back({.kind = kind, .devices = cluster.kinds[static_cast<std::size_t>(kind)].devices});
    ++runs.back().count;
  }
  return runs;
}

std::vector<DeviceId> devices_of(const Cluster& cluster, std::span<const NodeRun> nodes) {
  std::vector<std::vector<std::int32_t>> first_devices(cluster.kinds.size());
  std::int32_t device = 0;
  for (const std::int32_t kind : cluster.nodes) {
    first_devices[static_cast<std::size_t>(kind)].push_back(device);
    device += cluster.kinds[static_cast<std::size_t>(kind)].devices;
  }
  std::vector<std::size_t> taken(cluster.kinds.size());
  std::vector<DeviceId> devices;
  for (const NodeRun& run : nodes) {
    const auto kind = static_cast<std::size_t>(run.kind);
    check(run.devices <= cluster.kinds[kind].devices, "a run takes more devices than a node has");
    for (std::int32_t i = 0; i < run.count; ++i) {
      check(taken[kind] < first_devices[kind].size(), "runs take more nodes than the cluster has");
      const std::int32_t first = first_devices[kind][taken[kind]++];
      for (std::int32_t d = 0; d < run.devices; ++d) devices.push_back(DeviceId{first + d});
    }
  }
  return devices;
}

SimulationResult simulate_plan(const PlanQuestion& question, const PlanCandidate& candidate,
                               bool keep_times) {
  const StepRequest request = request_of(question, candidate);
  SimulationOptions options{.collective = question.collective,
                            .overlap = question.overlap,
                            .placement = devices_of(question.cluster, candidate.nodes),
                            .keep_times = keep_times};
  if (question.layer_times)
    options.retime = question.layer_times->retime(question.config, request, candidate.plan);
  const StagePrograms programs(question.config, request, candidate.plan);
  return simulate_step(programs, question.cluster, options);
}

std::optional<double> dollars_per_hour(const Cluster& cluster, std::span<const NodeRun> nodes) {
  double sum = 0;
  for (const NodeRun& run : nodes) {
    const NodeSpec& kind = cluster.kinds[static_cast<std::size_t>(run.kind)];
    const DeviceSpec& device = cluster.devices[static_cast<std::size_t>(kind.device)];
    if (!kind.price_per_hour && !device.price_per_hour) return std::nullopt;
    sum += run.count * (kind.price_per_hour ? *kind.price_per_hour : *device.price_per_hour * kind.devices);
  }
  return sum;
}

}  // namespace nadi::inline predict
