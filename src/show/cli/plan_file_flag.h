// --plan: a plan file (plan/plan_file.h) in place of MODEL and of the flags that say how a step is split.
//
//   flags.add(plan_file_flag("how it is split over ranks"));
//   const PlannedFlags planned = with_plan_file(flags);          // in run(), before anything is resolved
//   resolve_step(planned.flags, console);
//
// What the file decides is filled in as if the command line had it, so that everything behind it works
// unchanged: the model, sequence length, batch sizes, type, attention, recomputation, optimizer, and the
// plan. A flag that says the same is fine; one that contradicts the file is Error (usage), which names both;
// all others act as without a plan.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/command_line/flags.h"
#include "nadi/plan/plan_file.h"

namespace nadi::inline show {

FlagSpec plan_file_flag(std::string_view group);

struct PlannedFlags {
  Flags flags;  // as they were, where no plan was given
  std::optional<PlanFile> file = {};
  std::filesystem::path path = {};
};

// Error (input) for a file that cannot be read or whose plan does not fit its model.
PlannedFlags with_plan_file(const Flags& flags);

}  // namespace nadi::inline show
