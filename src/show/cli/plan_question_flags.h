// What `nadi plan` is asked: the flags of the step, of the space of plans, of the objective and its limits,
// and the question that they make.
#pragma once

#include "nadi/cluster/cluster.h"
#include "nadi/plan/plan_question.h"

namespace nadi::inline show {

class Flags;
struct Console;

void add_question_flags(Flags& flags);

// Reads the model and decides everything. Error (usage) for flags that make no sense together, values that no
// model has, a request that does not fit the model, and what load_model_config() and LayerTimes throw.
PlanQuestion resolve_question(const Flags& flags, Cluster cluster, Console& console);

}  // namespace nadi::inline show
