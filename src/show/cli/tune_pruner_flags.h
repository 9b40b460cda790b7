// --pruner of `nadi tune`, and a flag for each of its settings.
#pragma once

#include "nadi/sampling/pruner.h"

namespace nadi::inline show {

class Flags;

void add_pruner_flags(Flags& flags);

// Error (usage) for a setting of another pruner than the one that is named, and for settings that make no
// sense. The seed is that of the sampler.
PrunerSettings resolve_pruner(const Flags& flags, std::uint64_t seed);

}  // namespace nadi::inline show
