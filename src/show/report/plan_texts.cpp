#include "nadi/report/plan_texts.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/sim/framework.h"
#include "nadi/step/step_question.h"

namespace nadi::inline show {
namespace {

// Of what a prediction assumes besides, where it is not what `nadi simulate` takes by itself.
std::string unusual_flags_text(const PlanQuestion& question) {
  const StepRequest& request = question.request;
  const OptimizerOptions usual;
  std::string text;
  if (request.optimizer.kind != usual.kind)
    text += format(" --optimizer {}", to_string(request.optimizer.kind));
  if (request.optimizer.weight_decay != usual.weight_decay)
    text += format(" --weight-decay {}", request.optimizer.weight_decay);
  if (request.optimizer.max_grad_norm != usual.max_grad_norm)
    text += format(" --max-grad-norm {}", request.optimizer.max_grad_norm);
  if (question.dropout) text += format(" --dropout {}", *question.dropout);
  if (question.framework != frameworks().front().name) text += format(" --framework {}", question.framework);
  const DType reduced = default_gradient_dtype(request.dtype);
  if (question.overlap.gradient_dtype.value_or(reduced) != reduced)
    text += format(" --grad-reduce-dtype {}", name_of(*question.overlap.gradient_dtype));
  if (question.collective != CollectiveAlgorithm::kAuto)
    text += format(" --collective {}", to_string(question.collective));
  return text;
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
  const Recompute& recompute = candidate.recompute;
  if (recompute.granularity != Recompute::Granularity::kNone)
    text += format(" --recompute {}", to_string(recompute.granularity));
  if (recompute.granularity == Recompute::Granularity::kFull)
    text += format(" --recompute-method {} --recompute-num-layers {}", to_string(recompute.method),
                   recompute.layers);
  text += format(" --dtype {}", name_of(request.dtype));
  if (request.fp8) text += " --fp8";
  text += format(" --attention {}", attention_name(request.fused_attention));
  return text + unusual_flags_text(question);
}

}  // namespace nadi::inline show
