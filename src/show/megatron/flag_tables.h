// The rows of megatron_flags.h, by what becomes of them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "nadi/megatron/megatron_flags.h"

namespace nadi::inline show {

std::vector<MegatronFlag> acting_megatron_flags();

// Flags that share a reason, as they stand in a script: "--num-workers N" takes a value, "--spec N..." takes
// several words.
struct MegatronFlagGroup {
  std::string_view reason;
  std::vector<std::string_view> flags;
};
std::vector<MegatronFlagGroup> megatron_flags_without_effect();
std::vector<MegatronFlagGroup> refused_megatron_flags();

}  // namespace nadi::inline show
