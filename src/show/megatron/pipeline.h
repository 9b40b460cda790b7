// Megatron's flags for pipelines: how many layers a stage or a chunk of a stage has.
#pragma once

#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline show {

class Flags;

// Sets virtual_stages, schedule and partition of the plan where these flags are given. Error (usage) with the
// numbers for layers that do not divide, and for flags that contradict each other.
void apply_pipeline_flags(const Flags& flags, const ModelConfig& config, Plan& plan);

}  // namespace nadi::inline show
