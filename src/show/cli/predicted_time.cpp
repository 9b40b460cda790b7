#include "nadi/cli/predicted_time.h"

#include "nadi/base/format.h"
#include "nadi/base/rates.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/sim/simulation.h"
#include "nadi/train/step_requests.h"

namespace nadi::inline show {

Nanoseconds predicted_step(const Cluster& cluster, const ModelConfig& config, const StepRequest& request,
                           const Plan& plan) {
  const StagePrograms programs(config, request, plan);
  return simulate_step(programs, cluster.for_ranks(static_cast<std::int32_t>(plan.world_size())),
                       {.keep_times = false})
      .iteration_time;
}

Nanoseconds predicted_training_step(const Cluster& cluster, const TrainOptions& options) {
  return predicted_step(cluster, options.config, training_request(options, options.accumulation),
                        with_micro_batches(options.plan, options.accumulation));
}

std::string predicted_text(const Cluster& cluster, std::string_view what, Nanoseconds predicted,
                           double here) {
  std::string text = format("predicted on {}: {} per {}", cluster.name, to_string(predicted), what);
  if (here > 0 && predicted.count() > 0) {
    const double ratio = here / to_seconds(predicted);
    text += format("; here {}, {:.3g} times as long", to_string(from_seconds(here)), ratio);
  }
  return text + "\n";
}

}  // namespace nadi::inline show
