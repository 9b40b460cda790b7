// A step and what it costs as JSON. The keys are documented in docs/json.md; a test compares.
#pragma once

#include "nadi/base/json.h"

namespace nadi::inline ask {
struct StepAnswer;
}  // namespace nadi::inline ask

namespace nadi::inline show {

Json step_json(const StepAnswer& answer);

}  // namespace nadi::inline show
