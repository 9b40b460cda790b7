// How a step is split over ranks: the flags of the commands that build or run plans, and the plan they make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/command_line/flags.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline show {

struct PlanFlag {
  FlagSpec spec;
  bool generating;  // makes sense where text is generated, too; all do in training
};
std::vector<PlanFlag> plan_flags();

// "12-12-12-12", what --partition takes. Error (usage) for anything else.
std::vector<std::int64_t> parse_partition(const std::string& text);

// All of the plan but its micro-batches, which follow from the batch. Error (usage) for what is no plan of
// any model; whether it fits this one is for build_step() to say.
Plan resolve_plan(const Flags& flags);

}  // namespace nadi::inline show
