#include "nadi/job_report/job_prediction.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/graph/op.h"
#include "nadi/model/config_file.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/plan/plan_file.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline jobs {
namespace {

void simulate(const PlanFile& file, const std::filesystem::path& path, JobPrediction& prediction) {
  const ModelConfig config = load_model_config(file.model);
  check_plan_file(file, path, config);
  const Cluster cluster =
      load_cluster(file.cluster).for_ranks(static_cast<std::int32_t>(file.plan.world_size()));
  StepRequest request = request_of(file);
  request.layout = assumed_framework(file).layout;
  const StagePrograms programs(config, request, file.plan);
  SimulationOptions options = assumed_options(file, config);
  options.placement = check_devices(file, path, cluster);
  options.keep_times = false;
  const SimulationResult result = simulate_step(programs, cluster, options);
  prediction.simulated = result.iteration_time;
  const auto time_of = [](const SimulatedClass& ranks, Phase phase) {
    return ranks.breakdown.compute[static_cast<std::size_t>(phase)];
  };
  for (const SimulatedClass& ranks : result.classes) {
    auto stage = std::ranges::find(prediction.stages, ranks.source, &PredictedStage::stage);
    if (stage == prediction.stages.end())
      stage = prediction.stages.insert(stage, PredictedStage{.stage = ranks.source});
    // The slowest ranks of the stage.
    stage->forward = std::max(stage->forward, time_of(ranks, Phase::kForward));
    stage->backward =
        std::max(stage->backward, time_of(ranks, Phase::kBackward) + time_of(ranks, Phase::kRecompute));
    stage->bubble = std::max(stage->bubble, ranks.breakdown.bubble);
    stage->memory = std::max(stage->memory, ranks.memory.reserved);
  }
  std::ranges::sort(prediction.stages, {}, &PredictedStage::stage);
}

}  // namespace

JobPrediction predict_job(const std::filesystem::path& plan) {
  const PlanFile file = read_plan_file(plan);
  JobPrediction prediction{.plan = plan,
                           .model = file.model,
                           .cluster = file.cluster,
                           .tensor = file.plan.tp,
                           .context = file.plan.cp,
                           .data = file.plan.dp,
                           .pipeline = file.plan.pp,
                           .micro_batch = file.micro_batch_size,
                           .global_batch = file.global_batch_size,
                           .seq_length = file.seq_length,
                           .planned = file.predicted.step_time};
  if (file.cluster.empty()) {
    prediction.problem = "the plan names no cluster";
    return prediction;
  }
  try {
    simulate(file, plan, prediction);
  } catch (const Error& error) {
    // The report is about the job; what its plan says is one part of it.
    prediction.stages.clear();
    prediction.simulated.reset();
    prediction.problem = error.what();
  }
  return prediction;
}

}  // namespace nadi::inline jobs
