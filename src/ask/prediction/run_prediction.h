// What a run would take on described hardware, beside what it took here: `--cluster` of `nadi train` and `nadi generate`.
//
//   const Nanoseconds step = predicted_training_step(load_cluster("dgx-h100"), options);
#pragma once

#include <cstdint>
#include <optional>

#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/generate/generation_request.h"
#include "nadi/generate/measured_generation.h"
#include "nadi/train/trainer.h"

namespace nadi::inline ask {

// Of the largest step of the run, as Nadi trains: gradients are reduced in fp32. Error (infeasible) where the cluster has
// fewer devices than the plan has ranks.
Nanoseconds predicted_training_step(const Cluster& cluster, const TrainOptions& options);

// Of one batch: its prompts, and one token after them for each; with what they took here.
struct PredictedGeneration {
  Nanoseconds prompt = {};
  double prompt_seconds = 0;
  std::optional<Nanoseconds> token = {};  // nothing where none was made
  double token_seconds = 0;
};
PredictedGeneration predict_generation(const Cluster& cluster, const GenerationRequest& request,
                                       const GenerationResult& result, std::int64_t ranks);

}  // namespace nadi::inline ask
