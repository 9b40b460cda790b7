// The flags of Megatron-LM that `nadi train` accepts besides its own, so that a pretraining script runs with
// smaller numbers and otherwise unchanged. Flags that Megatron and Nadi share (--tensor-model-parallel-size,
// --seq-length, --data-path) are not here: they are Nadi's own. docs/megatron.md has the whole list.
//
// Each flag acts; or has no effect, which a note says at the start of a run; or is refused, since the run
// would compute something else than the script asks for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/command_line/flags.h"

namespace nadi::inline show {

enum class MegatronEffect : std::uint8_t { kActs, kNone, kRefused };

struct MegatronFlag {
  FlagSpec spec;
  MegatronEffect effect = MegatronEffect::kActs;
  std::string_view same_as = {};  // the flag of Nadi's with the same meaning
  std::string_view reason = {};   // why it has no effect, or is refused
};

// Acting ones first, then those without effect, then the refused.
const std::vector<MegatronFlag>& megatron_flags();

void add_megatron_flags(Flags& flags);

// Whether any of them was given: then the run has Megatron's defaults and log.
bool uses_megatron_flags(const Flags& flags);

// The name under which a flag of Nadi's was given: its own, or Megatron's. Error (usage) when both were
// given.
std::string_view given_name(const Flags& flags, std::string_view own);

// The given flags that have no effect, in the order of the table.
std::vector<std::string_view> given_without_effect(const Flags& flags);

// Error (usage) naming the first refused flag that was given, and why.
void refuse_megatron_flags(const Flags& flags);

}  // namespace nadi::inline show
