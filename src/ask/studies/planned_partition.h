// What the planner of a study is asked, with what the file of its plan says; and the partition of that plan as a choice
// of the space.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nadi/model/model_config.h"
#include "nadi/plan/plan_file.h"
#include "nadi/tune/tune_study.h"

namespace nadi::inline ask {

// Words by which a program is told how layers are spread over stages, as the flags of Megatron-LM.
using PartitionWords =
    std::function<std::vector<std::string>(const ModelConfig& config, const PlanFile& file)>;

// Error (usage) for what is missing, or contradicts the plan's file; (input) for that file.
PlannedRun resolve_planned(const PlannedRun& asked);

// Layers that the plan's file spreads unevenly become a choice of a space that has a constant for the partition: evenly,
// or as the plan does. Layers of virtual stages stand in for the number of those, as Megatron's layout does.
void add_planned_partition(const PlannedRun& planned, const PartitionWords& words, TuneSpace& space);

}  // namespace nadi::inline ask
