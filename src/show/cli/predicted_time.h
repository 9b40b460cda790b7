// --hw-config of commands that run something: what the same would take on described hardware.
//
//   if (const auto cluster = given_cluster(flags))
//     console.out << predicted_text(*cluster, "step", predicted_step(...), measured_seconds);
#pragma once

#include <string>
#include <string_view>

#include "nadi/cluster/cluster.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"
#include "nadi/train/trainer.h"

namespace nadi::inline show {

// Error (infeasible) where the cluster has fewer devices than the plan has ranks.
Nanoseconds predicted_step(const Cluster& cluster, const ModelConfig& config, const StepRequest& request,
                           const Plan& plan);

// The same of a training run, for its largest step.
Nanoseconds predicted_training_step(const Cluster& cluster, const TrainOptions& options);

// "predicted on dgx-h100: 12.3 ms per step; here 2.31 s, 188 times as long"; `here` 0: not known.
std::string predicted_text(const Cluster& cluster, std::string_view what, Nanoseconds predicted, double here);

}  // namespace nadi::inline show
