// The flags of a step, shared by `show` and `trace`, and how they become a ResolvedStep. Every default is
// decided here, once, and is part of the result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/report/resolved_step.h"

namespace nadi::inline show {

class Flags;
struct Console;

// Adds MODEL and the flags of a step. `dtype_fallback`: what help says where a command has a default of its
// own.
void add_step_flags(Flags& flags, std::string dtype_fallback = "");

// Reads the model named on the command line and decides everything. Error (usage) for flags that contradict
// each other or make no sense with the kind of step, and what load_model_config() throws. Keys of the
// model's configuration that Nadi does not use are named on console.err.
ResolvedStep resolve_step(const Flags& flags, Console& console);

// The same for a training step whose split over ranks is not decided by flags: without --step, degrees,
// micro-batches and recomputation. The batch is that of all ranks; the result has no settings and the plan of
// one rank.
void add_unsplit_step_flags(Flags& flags, std::string dtype_fallback);
ResolvedStep resolve_unsplit_step(const Flags& flags, Console& console);

// The flags of a step that were given, for commands that may get something else than a model.
std::vector<std::string_view> given_step_flags(const Flags& flags);

}  // namespace nadi::inline show
