// A resolved step setting by setting, for text and JSON: each with its key, and the flag that asks for it again.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/step/step_question.h"

namespace nadi::inline show {

// One setting: the user's value, or the default.
struct Setting {
  std::string_view key;   // in JSON and in the metadata of traces: "batch_size"
  std::string_view flag;  // as the command line takes it, to be copied; "" for what follows from others
  Json value;             // null where it does not apply to the kind of step
  bool given = false;     // by the user
};

// The same keys in the same order for every step.
struct StepSettings {
  std::vector<Setting> step, plan;
};

// Whether the user gave a flag.
using GivenFlag = std::function<bool(std::string_view flag)>;
StepSettings step_settings(
    const ResolvedStep& step, const GivenFlag& given = [](std::string_view) { return false; });

}  // namespace nadi::inline show
