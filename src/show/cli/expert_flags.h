// How layers with experts are computed: flags of Megatron-LM's names, for every command that builds a step.
#pragma once

#include <vector>

#include "nadi/command_line/flags.h"
#include "nadi/model/expert_options.h"

namespace nadi::inline show {

std::vector<FlagSpec> expert_flags();
ExpertOptions resolve_experts(const Flags& flags);

}  // namespace nadi::inline show
