// The flags of nadi checkpoint convert, which are those of Megatron-LM's tools/checkpoint/convert.py and some
// of ours, and the conversion that they ask for.
#pragma once

#include <string>
#include <vector>

#include "nadi/checkpoint_conversion/convert_checkpoint.h"

namespace nadi::inline show {

class Flags;

void add_checkpoint_convert_flags(Flags& flags);

struct ResolvedConversion {
  ConversionRequest request;
  std::vector<std::string> notes = {};  // flags that have no effect here, and why
};

// Error (usage) for what is missing or contradicts itself.
ResolvedConversion resolve_conversion(const Flags& flags);

}  // namespace nadi::inline show
