// A resolved step setting by setting, and as JSON: what its answers begin with, and what its traces say of themselves.
//
//   for (const StepSetting& setting : step_settings(step).step) setting.key, setting.value
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/step/step_question.h"

namespace nadi::inline ask {

struct StepSetting {
  std::string_view key;  // "batch_size"
  Json value;            // null where it does not apply to the kind of step
};

// The same keys in the same order for every step. The plan is as it was decided, the partition written out.
struct StepSettings {
  std::vector<StepSetting> step, plan;
};
StepSettings step_settings(const ResolvedStep& step);

// "model" with the parameters of the whole model, "step" and "plan": how the JSON of a step starts.
Json resolved_json(const ResolvedStep& step);

// The same as attributes of traces. No times and no machine names: same input, same bytes.
std::vector<std::pair<std::string, std::string>> trace_metadata(const ResolvedStep& step);

}  // namespace nadi::inline ask
