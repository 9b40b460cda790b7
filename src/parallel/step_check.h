// Whether a step can be built: each function throws Error (usage) with the numbers that do not fit.
// build_step() calls both.
#pragma once

#include "nadi/parallel/step_program.h"

namespace nadi {

// Checks the request against the model: for example a sequence longer than the model's positions, or a
// model that does not generate text.
void check_request(const ModelConfig& config, const StepRequest& request);

// Checks the plan against the model and the request: for example heads that do not divide over the ranks.
void check_plan(const ModelConfig& config, const StepRequest& request, const Plan& plan);

}  // namespace nadi
