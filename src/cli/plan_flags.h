// How a step is split over ranks, from the flags of step_flags.h.
#pragma once

#include <vector>

#include "nadi/cli/step_flags.h"
#include "nadi/parallel/plan.h"

namespace nadi {

// All of the plan but its micro-batches, which follow from the batch. Error (usage) for what is no plan of
// any model; whether it fits this one is for build_step() to say.
Plan resolve_plan(const Flags& flags);

// The plan as it was decided, the partition written out. Defaults that say nothing (a schedule of one stage)
// have no flag.
std::vector<Setting> plan_settings(const Flags& flags, const ModelConfig& config, const StepRequest& request,
                                   const Plan& plan);

}  // namespace nadi
