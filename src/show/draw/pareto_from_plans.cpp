#include "nadi/draw/pareto_from_plans.h"

#include "nadi/base/format.h"
#include "nadi/prediction/planning_figures.h"
#include "nadi/report/plan_texts.h"

namespace nadi::inline show {
namespace {

std::string summary_of_plan(const PlanCandidate& candidate) {
  const Plan& plan = candidate.plan;
  std::string text =
      format("tp {}, dp {}, pp {}, micro-batch {}", plan.tp, plan.dp, plan.pp, candidate.micro_batch_size);
  if (plan.pp > 1) text += format(", layers {}, {}", partition_text(plan.partition), schedule_text(plan));
  if (candidate.recompute.granularity != Recompute::Granularity::kNone)
    text += format(", recompute {}", to_string(candidate.recompute.granularity));
  if (plan.zero_stage > 0) text += format(", ZeRO-{}", plan.zero_stage);
  if (plan.sequence_parallel) text += ", sequence parallel";
  return text;
}

void add_points(ParetoPage& page, const ParetoPlans& plans, std::span<const RankedPlan> list, bool on_front) {
  for (const RankedPlan& plan : list) {
    const PlanFigures figures = plan_figures(plans.question, plans.work, plan);
    if (!figures.dollars_per_step) continue;
    page.points.push_back({.on_front = on_front,
                           .estimated = plan.estimate.iteration,
                           .simulated = plan.simulated,
                           .dollars_per_step = *figures.dollars_per_step,
                           .dollars_per_million_tokens = *figures.dollars_per_million_tokens,
                           .dollars_per_hour = *figures.dollars_per_hour,
                           .samples_per_second = figures.samples_per_second,
                           .devices = plan.candidate.plan.world_size(),
                           .memory = figures.memory,
                           .capacity = figures.capacity,
                           .nodes = nodes_text(plans.question.cluster, plan.candidate.nodes),
                           .summary = summary_of_plan(plan.candidate),
                           .flags = plan_flags_text(plans.question, plan.candidate)});
  }
}

}  // namespace

ParetoPage pareto_of_plans(const ParetoPlans& plans) {
  ParetoPage page{.title = format("{} on {}", plans.question.config.name, plans.question.cluster.name)};
  add_points(page, plans, plans.front, true);
  add_points(page, plans, plans.behind, false);
  return page;
}

}  // namespace nadi::inline show
