// A step and what it costs as JSON. The keys are documented in docs/json.md; a test compares.
#pragma once

#include "nadi/base/json.h"
#include "nadi/report/resolved_step.h"

namespace nadi::inline show {

struct StepView;

// "model" with `parameters` (of the whole model), "step" and "plan": how the JSON of a step starts.
Json resolved_json(const ResolvedStep& step, std::int64_t parameters);
Json step_json(const StepView& view);

}  // namespace nadi::inline show
