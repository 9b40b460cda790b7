#include "nadi/megatron/planned_job.h"

#include <algorithm>
#include <string_view>

#include "nadi/cluster/cluster_file.h"
#include "nadi/job_files/job_placement.h"
#include "nadi/job_scripts/rank_function.h"
#include "nadi/megatron/megatron_command.h"
#include "nadi/megatron/plan_flags.h"
#include "nadi/model/config_file.h"
#include "nadi/plan/plan_file.h"

namespace nadi::inline show {
namespace {

bool names(const JobEnvironment& environment, std::string_view name) {
  return std::ranges::find(environment.pass, name) != environment.pass.end() ||
         std::ranges::find(environment.set, name, [](const auto& entry) { return entry.first; }) !=
             environment.set.end();
}

// The flags and variables of the plan for Megatron-LM; `nadi train` reads the plan itself.
void take_megatron_flags(JobFile& job, const PlanFile& plan, const ModelConfig& config,
                         PlannedJobNotes& said) {
  if (job.run.kind != JobRunKind::kMegatron) return;
  const MegatronPlanFlags planned = megatron_plan_flags(config, plan);
  job.run.words = with_plan_flags(std::move(job.run.words), planned.flags, job.plan.filename().string());
  for (const auto& [name, value] : planned.environment)
    if (!names(job.environment, name)) job.environment.set.emplace_back(name, value);
  said = {.notes = planned.notes, .problems = planned.problems};
}

}  // namespace

// Nodes, ranks and flags by the plan, which fits its model and its cluster.
PlannedJobNotes follow_plan(JobFile& job) {
  PlannedJobNotes said;
  const PlanFile plan = read_plan_file(job.plan);
  const ModelConfig config = load_model_config(plan.model);
  check_plan_file(plan, job.plan, config);
  take_megatron_flags(job, plan, config, said);
  if (plan.cluster.empty()) {
    place_by_plan(job, plan, nullptr);
    return said;
  }
  const Cluster cluster = load_cluster(plan.cluster);
  check_devices(plan, job.plan, cluster);
  place_by_plan(job, plan, &cluster);
  return said;
}

// What a restart of Megatron-LM needs, and nothing adds.
std::vector<std::string> lost_steps_of(const JobFile& job) {
  std::vector<std::string> lost;
  if (job.run.kind != JobRunKind::kMegatron || job.requeue.max_restarts == 0) return lost;
  const auto has = [&](const std::string& flag) {
    return std::ranges::any_of(
        job.run.words, [&](const std::string& word) { return word == flag || word.starts_with(flag + "="); });
  };
  if (job.requeue.before_end.count() > 0 && save_signal(job) == "TERM" && !has("--exit-signal-handler"))
    lost.emplace_back("run.megatron has no --exit-signal-handler: ranks that are told to save end without");
  if (!has("--load"))
    lost.emplace_back("run.megatron has no --load: each restart begins with the first step");
  return lost;
}

}  // namespace nadi::inline show
