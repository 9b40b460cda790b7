// The settings of a resolved step as flags, to be copied into the next command.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/step/step_question.h"

namespace nadi::inline show {

// One setting: the user's value, or the default.
struct FlagSetting {
  std::string flag;    // "--batch-size"
  Json value;          // null where it does not apply to the kind of step
  bool given = false;  // by the user
};

// Of what has a flag: what follows from other settings has none, and so has the default of a split that says nothing
// (a schedule of one stage). `given`: whether the user gave a flag.
std::vector<FlagSetting> flag_settings(const ResolvedStep& step,
                                       const std::function<bool(std::string_view flag)>& given);

}  // namespace nadi::inline show
