#include "nadi/report/no_plan_error.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/parallel/step_check.h"
#include "nadi/report/plan_report.h"

namespace nadi::inline show {
namespace {

// Where the space has one value of each degree, the reason why no plan can be built is that of this plan.
void refuse_only_plan(const PlanQuestion& question) {
  const PlanSpace& space = question.space;
  if (space.tp.size() != 1 || space.pp.size() > 1 || space.dp.size() > 1) return;
  Plan plan{.tp = space.tp[0],
            .dp = space.dp.empty() ? 1 : space.dp[0],
            .pp = space.pp.empty() ? 1 : space.pp[0],
            .partition = space.partition};
  StepRequest request = question.request;
  request.batch_size = std::max<std::int64_t>(question.global_batch_size / plan.dp, 1);
  plan.micro_batches = request.batch_size;
  check_plan(question.config, request, plan);
}

}  // namespace

Error no_plan_error(const PlanningAnswer& planned) {
  const PlanQuestion& question = planned.asked.question;
  const PlanAnswer& answer = planned.found;
  const std::string miss = nearest_miss_text(question, answer);
  if (miss.empty()) {
    refuse_only_plan(question);
    return Error(ErrorKind::kInfeasible, {},
                 format("no plan of {} on {} is in the space that was asked for", question.config.name,
                        question.cluster.name),
                 format("the batch divides over data-parallel ranks and micro-batches, heads over "
                        "tensor-parallel ranks; {} devices are there",
                        with_thousands(question.cluster.device_count())));
  }
  std::string hint = "more or larger devices";
  if (question.limits.dollars_per_million_tokens) hint += ", a higher --budget";
  if (question.limits.step_time) hint += ", a later --deadline";
  if (question.limits.memory_share < 1) hint += ", a larger --memory-share";
  return Error(ErrorKind::kInfeasible, {},
               format("nothing fits {} on {}: {}", question.config.name, question.cluster.name, miss), hint);
}

std::string fleet_note(const PlanningAnswer& answer) {
  std::string note = format("The fastest plan on each of {} mixes of nodes; {} plans were evaluated.",
                            with_thousands(answer.subclusters), with_thousands(answer.front_evaluated));
  for (const FleetChoice& choice : answer.parts)
    if (choice.step > 1)
      note += format(" Of {}, every {} nodes were looked at.",
                     answer.asked.question.cluster.kinds[static_cast<std::size_t>(choice.kind)].name,
                     choice.step);
  return note;
}

}  // namespace nadi::inline show
