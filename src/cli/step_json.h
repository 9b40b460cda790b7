// A model, a step and what it costs as JSON. The keys are documented in docs/json.md; a test compares.
#pragma once

#include "nadi/base/json.h"
#include "nadi/cli/step_flags.h"

namespace nadi {

struct ProgramSummary;

Json model_json(const ModelConfig& config);
Json settings_json(const ResolvedStep& step);
Json step_json(const ResolvedStep& step, const ProgramSummary& summary);

}  // namespace nadi
