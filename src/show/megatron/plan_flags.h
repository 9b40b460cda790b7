// The command line of a Megatron-LM script, completed by a plan.
//
//   const MegatronPlanFlags planned = megatron_plan_flags(config, plan);
//   words = with_plan_flags(words, planned.flags, "plan.json");
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/megatron/megatron_command.h"

namespace nadi::inline show {

// `words` are a script and its flags, with "--flag value" or "--flag=value". Flags of the plan that they lack
// are added behind them; numbers are compared as numbers. Error (usage), which names both, where a word says
// something else than the plan; `plan` is what messages call it.
std::vector<std::string> with_plan_flags(std::vector<std::string> words,
                                         const std::vector<MegatronPlanFlag>& flags, std::string_view plan);

}  // namespace nadi::inline show
