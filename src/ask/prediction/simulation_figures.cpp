#include "nadi/prediction/simulation_figures.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/parallel/step_summary.h"
#include "nadi/prediction/assumptions.h"

namespace nadi::inline ask {
namespace {

std::int64_t tokens_of(const StepRequest& request) {
  switch (request.kind) {
    case StepKind::kTrain:
    case StepKind::kEvaluate:
      return request.batch_size * request.seq_length;
    case StepKind::kPrefill:
      return request.batch_size * request.input_tokens;
    case StepKind::kDecode:
      return request.batch_size;
    case StepKind::kGenerate:
      return request.batch_size * request.output_tokens;
  }
  unreachable();
}

struct NodesInUse {
  std::optional<double> dollars_per_hour = 0.0, watts = 0.0;
  double peak_per_second = 0;
};

// Devices in use by node. `placement` is by rank; empty means the first ones.
std::vector<std::int64_t> devices_in_use(const Cluster& cluster, std::int64_t ranks,
                                         std::span<const DeviceId> placement) {
  std::vector<DeviceId> devices(placement.begin(), placement.end());
  std::ranges::sort(devices);
  std::vector<std::int64_t> used;
  std::int64_t first = 0;
  std::size_t at = 0;
  for (const std::int32_t kind : cluster.nodes) {
    const std::int64_t here = cluster.kinds[static_cast<std::size_t>(kind)].devices;
    const std::size_t before = at;
    while (at < devices.size() && to_number(devices[at]) < first + here) ++at;
    used.push_back(placement.empty() ? std::clamp<std::int64_t>(ranks - first, 0, here)
                                     : static_cast<std::int64_t>(at - before));
    first += here;
  }
  return used;
}

NodesInUse nodes_in_use(const Cluster& cluster, const std::vector<std::int64_t>& used_devices, DType dtype) {
  NodesInUse sum;
  for (std::size_t number = 0; number < used_devices.size(); ++number) {
    const std::int64_t used = used_devices[number];
    if (used == 0) continue;
    const NodeSpec& node = cluster.node(static_cast<std::int32_t>(number));
    const DeviceSpec& device = cluster.devices[static_cast<std::size_t>(node.device)];
    const std::optional<double> price = node_dollars_per_hour(cluster, node);
    if (sum.dollars_per_hour && price)
      *sum.dollars_per_hour += *price;
    else
      sum.dollars_per_hour.reset();
    if (sum.watts && device.power_watts)
      *sum.watts += *device.power_watts * static_cast<double>(used);
    else
      sum.watts.reset();
    sum.peak_per_second += device.peak(dtype).per_second() * static_cast<double>(used);
  }
  return sum;
}

}  // namespace

SimulatedWork step_work(const ModelConfig& config, const StepRequest& request, const Plan& plan) {
  SimulatedWork work{.samples = request.batch_size * plan.dp,
                     .tokens = tokens_of(request) * plan.dp,
                     .dtype = request.fp8 ? DType::kF8E4M3 : request.dtype};
  const std::int64_t ranks_per_stage = plan.world_size() / plan.pp;
  for (std::int64_t stage = 0; stage < plan.pp; ++stage) {
    const ProgramSummary summary = summarize_step(config, request, plan, stage);
    for (const Phase phase : {Phase::kForward, Phase::kBackward})
      work.model_flops +=
          static_cast<double>(summary.phases[static_cast<std::size_t>(phase)].cost.matrix.count()) *
          static_cast<double>(ranks_per_stage);
  }
  return work;
}

SimulationFigures simulation_figures(const SimulationResult& result, const Cluster& cluster,
                                     const SimulatedWork* work, std::span<const DeviceId> placement) {
  SimulationFigures figures{.iteration_seconds = to_seconds(result.iteration_time)};
  const double seconds = figures.iteration_seconds;
  if (seconds <= 0) return figures;
  const NodesInUse used = nodes_in_use(cluster, devices_in_use(cluster, result.ranks, placement),
                                       work ? work->dtype : DType::kF32);
  figures.dollars_per_hour = used.dollars_per_hour;
  if (used.dollars_per_hour) figures.dollars_per_step = *used.dollars_per_hour / 3600 * seconds;
  figures.watts = used.watts;
  if (used.watts) figures.joules_per_step = *used.watts * seconds;
  if (work == nullptr) return figures;
  figures.samples_per_second = static_cast<double>(work->samples) / seconds;
  figures.tokens_per_second = static_cast<double>(work->tokens) / seconds;
  if (used.peak_per_second > 0)
    figures.model_flops_utilization = work->model_flops / seconds / used.peak_per_second;
  if (figures.dollars_per_step)
    figures.dollars_per_million_tokens = *figures.dollars_per_step / static_cast<double>(work->tokens) * 1e6;
  return figures;
}

}  // namespace nadi::inline ask
