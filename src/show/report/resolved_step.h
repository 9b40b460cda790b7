// A step as it was decided: model, request, plan, and every setting with where it comes from.
#pragma once

#include <string_view>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline show {

// One setting: the user's value, or the default.
struct Setting {
  std::string_view key;   // in JSON and in the metadata of traces: "batch_size"
  std::string_view flag;  // as the command line takes it, to be copied; "" for what follows from others
  Json value;             // null where it does not apply to the kind of step
  bool given = false;     // by the user
};

struct ResolvedStep {
  ModelConfig config;
  StepRequest request;
  Plan plan;
  // The same keys in the same order for every step.
  std::vector<Setting> settings;
  std::vector<Setting> plan_settings;
};

}  // namespace nadi::inline show
