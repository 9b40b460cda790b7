// Whether a step can be built: each function throws Error (usage) with the numbers that do not fit.
// build_step() calls both.
#pragma once

#include "nadi/parallel/step_program.h"

namespace nadi {

// The request against the model: a sequence longer than the model's positions, generating with one that
// cannot.
void check_request(const ModelConfig& config, const StepRequest& request);

// The plan against the model, the request and itself: heads that do not divide, layers that do not add up.
void check_plan(const ModelConfig& config, const StepRequest& request, const Plan& plan);

}  // namespace nadi
