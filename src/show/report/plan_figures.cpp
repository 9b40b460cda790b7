#include "nadi/report/plan_figures.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/rates.h"
#include "nadi/model/compute_dtypes.h"

namespace nadi::inline show {
namespace {

double peak_of_devices(const Cluster& cluster, std::span<const NodeRun> nodes, DType dtype) {
  double sum = 0;
  for (const NodeRun& run : nodes) {
    const NodeSpec& kind = cluster.kinds[static_cast<std::size_t>(run.kind)];
    const DeviceSpec& device = cluster.devices[static_cast<std::size_t>(kind.device)];
    sum += device.peak(dtype).per_second() * run.count * run.devices;
  }
  return sum;
}

// `names` by kind.
std::string runs_text(const Cluster& cluster, std::span<const NodeRun> nodes,
                      const std::vector<std::string>& names, std::string_view plus) {
  std::string text;
  for (const NodeRun& run : nodes) {
    const auto kind = static_cast<std::size_t>(run.kind);
    text += format("{}{} {}", text.empty() ? "" : plus, run.count, names[kind]);
    if (run.devices < cluster.kinds[kind].devices) text += format(":{}", run.devices);
  }
  return text;
}

}  // namespace

// One sequence is counted: the sum over a large batch may have more than 63 bits.
SimulatedWork question_work(const PlanQuestion& question) {
  ResolvedStep step;
  step.config = question.config;
  step.request = question.request;
  step.request.kind = StepKind::kTrain;
  step.request.batch_size = 1;
  step.request.recompute = {};
  SimulatedWork work = step_work(step);
  work.model_flops *= static_cast<double>(question.global_batch_size);
  work.samples = question.global_batch_size;
  work.tokens = question.global_batch_size * question.request.seq_length;
  return work;
}

PlanFigures plan_figures(const PlanQuestion& question, const SimulatedWork& work, const RankedPlan& plan) {
  PlanFigures figures{.time = plan.simulated.value_or(plan.estimate.iteration)};
  const double seconds = to_seconds(figures.time);
  double fullest = -1;
  for (std::size_t stage = 0; stage < plan.estimate.stages.size(); ++stage) {
    const StageEstimate& estimate = plan.estimate.stages[stage];
    const double share = estimate.capacity.count() > 0 ? static_cast<double>(estimate.memory.count()) /
                                                             static_cast<double>(estimate.capacity.count())
                                                       : 0;
    if (share <= fullest) continue;
    fullest = share;
    figures.memory = estimate.memory;
    figures.capacity = estimate.capacity;
    figures.fullest_stage = static_cast<std::int32_t>(stage);
  }
  if (seconds <= 0) return figures;
  figures.samples_per_second = static_cast<double>(work.samples) / seconds;
  figures.tokens_per_second = static_cast<double>(work.tokens) / seconds;
  const double peak = peak_of_devices(question.cluster, plan.candidate.nodes, work.dtype);
  if (peak > 0) figures.model_flops_utilization = work.model_flops / seconds / peak;
  figures.dollars_per_hour = dollars_per_hour(question.cluster, plan.candidate.nodes);
  if (figures.dollars_per_hour) {
    figures.dollars_per_step = *figures.dollars_per_hour / 3600 * seconds;
    figures.dollars_per_million_tokens = *figures.dollars_per_step / static_cast<double>(work.tokens) * 1e6;
  }
  return figures;
}

std::string nodes_text(const Cluster& cluster, std::span<const NodeRun> nodes) {
  std::vector<std::string> names;
  for (const NodeSpec& kind : cluster.kinds) names.push_back(kind.name);
  return runs_text(cluster, nodes, names, " + ");
}

std::string short_nodes_text(const Cluster& cluster, std::span<const NodeRun> nodes) {
  std::vector<std::string> names;
  for (const NodeSpec& kind : cluster.kinds) names.push_back(kind.name.substr(0, kind.name.find('.')));
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (sorted.front().empty() || std::ranges::adjacent_find(sorted) != sorted.end())
    return nodes_text(cluster, nodes);
  return runs_text(cluster, nodes, names, "+");
}

std::string partition_text(std::span<const std::int64_t> partition) {
  std::string text;
  for (const std::int64_t layers : partition) text += format("{}{}", text.empty() ? "" : "-", layers);
  return text;
}

std::string schedule_text(const Plan& plan) {
  if (plan.pp < 2) return "-";
  return plan.virtual_stages > 1 ? format("{} x{}", to_string(plan.schedule), plan.virtual_stages)
                                 : std::string(to_string(plan.schedule));
}

std::string plan_flags_text(const PlanQuestion& question, const PlanCandidate& candidate) {
  const Plan& plan = candidate.plan;
  const StepRequest& request = question.request;
  std::string text = format("--tp {} --dp {} --pp {}", plan.tp, plan.dp, plan.pp);
  if (plan.pp > 1) {
    text += format(" --partition {}", partition_text(plan.partition));
    text += format(" --schedule {}", to_string(plan.schedule));
    if (plan.virtual_stages > 1) text += format(" --virtual-stages {}", plan.virtual_stages);
  }
  if (plan.sequence_parallel) text += " --sequence-parallel";
  if (plan.zero_stage > 0) text += format(" --zero {}", plan.zero_stage);
  text += format(" --global-batch-size {} --micro-batch-size {} --seq-length {}", question.global_batch_size,
                 candidate.micro_batch_size, request.seq_length);
  if (candidate.recompute.granularity != Recompute::Granularity::kNone)
    text += format(" --recompute {}", to_string(candidate.recompute.granularity));
  text += format(" --dtype {}", name_of(request.dtype));
  if (request.fp8) text += " --fp8";
  return text + (request.fused_attention ? " --attention fused" : " --attention unfused");
}

}  // namespace nadi::inline show
