// A step and what it costs as JSON. The keys are documented in docs/json.md; a test compares.
#pragma once

#include "nadi/base/json.h"

namespace nadi::inline ask {
struct ResolvedStep;
struct StepAnswer;
}  // namespace nadi::inline ask

namespace nadi::inline show {

// "model" with `parameters` (of the whole model), "step" and "plan": how the JSON of a step starts.
Json resolved_json(const ResolvedStep& step, std::int64_t parameters);
Json step_json(const StepAnswer& answer);

}  // namespace nadi::inline show
