// What `nadi plan` is asked: the flags of the step, of the space of plans, of the objective and its limits,
// and the question that they make.
#pragma once

#include "nadi/prediction/planning_question.h"

namespace nadi::inline show {

class Flags;

void add_question_flags(Flags& flags);

// Error (usage) for values that no plan has.
PlanningQuestion planning_question(const Flags& flags);

}  // namespace nadi::inline show
