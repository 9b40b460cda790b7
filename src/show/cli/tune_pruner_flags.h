// --pruner of `nadi tune`, and a flag for each of its settings.
#pragma once

#include "nadi/sampling/pruner.h"

namespace nadi::inline show {

class Flags;

void add_pruner_flags(Flags& flags);

// Error (usage) for a setting of another pruner than the one that is named.
PrunerSettings pruner_settings(const Flags& flags);

}  // namespace nadi::inline show
