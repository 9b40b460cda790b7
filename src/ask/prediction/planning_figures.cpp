#include "nadi/prediction/planning_figures.h"

#include <span>

#include "nadi/base/rates.h"
#include "nadi/plan/plan_candidate.h"

namespace nadi::inline ask {
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

}  // namespace

// One sequence is counted: the sum over a large batch may have more than 63 bits.
SimulatedWork question_work(const PlanQuestion& question) {
  StepRequest request = question.request;
  request.kind = StepKind::kTrain;
  request.batch_size = 1;
  request.recompute = {};
  SimulatedWork work = step_work(question.config, request, {});
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

}  // namespace nadi::inline ask
