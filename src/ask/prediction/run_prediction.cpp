#include "nadi/prediction/run_prediction.h"

#include <algorithm>

#include "nadi/parallel/stage_programs.h"
#include "nadi/sim/framework.h"
#include "nadi/sim/simulation.h"
#include "nadi/train/step_requests.h"

namespace nadi::inline ask {
namespace {

Nanoseconds predicted_step(const Cluster& cluster, const ModelConfig& config, const StepRequest& request,
                           const Plan& plan) {
  SimulationOptions options{.keep_times = false};
  if (request.kind == StepKind::kTrain) {
    options.overlap = frameworks().front().overlap;
    options.overlap.gradient_dtype = DType::kF32;
  }
  const StagePrograms programs(config, request, plan);
  return simulate_step(programs, cluster.for_ranks(static_cast<std::int32_t>(plan.world_size())), options)
      .iteration_time;
}

}  // namespace

Nanoseconds predicted_training_step(const Cluster& cluster, const TrainOptions& options) {
  return predicted_step(cluster, options.config, training_request(options, options.accumulation),
                        with_micro_batches(options.plan, options.accumulation));
}

PredictedGeneration predict_generation(const Cluster& cluster, const GenerationRequest& request,
                                       const GenerationResult& result, std::int64_t ranks) {
  const GeneratorOptions& options = request.options;
  const auto prompts = static_cast<std::int64_t>(request.prompts.ids.size());
  StepRequest step{.kind = StepKind::kPrefill,
                   .batch_size = options.batch_size,
                   .input_tokens = options.input_tokens,
                   .dtype = options.dtype};
  const Plan plan{.tp = ranks};
  const double batches =
      static_cast<double>((prompts + options.batch_size - 1) / std::max<std::int64_t>(options.batch_size, 1));
  PredictedGeneration predicted{.prompt = predicted_step(cluster, request.config, step, plan),
                                .prompt_seconds = result.prefill_seconds / batches};
  if (result.decode_tokens == 0) return predicted;
  step.kind = StepKind::kDecode;
  const double tokens = static_cast<double>(result.decode_tokens) / static_cast<double>(options.batch_size);
  predicted.token = predicted_step(cluster, request.config, step, plan);
  predicted.token_seconds = result.decode_seconds / tokens;
  return predicted;
}

}  // namespace nadi::inline ask
