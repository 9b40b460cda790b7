// Why a search for plans found none, and what a front of a fleet left out.
#pragma once

#include <string>

#include "nadi/base/error.h"
#include "nadi/prediction/planning_question.h"

namespace nadi::inline show {

// Error (infeasible) with what the nearest plan misses by; throws Error (usage) where the only plan of the space cannot be
// built.
Error no_plan_error(const PlanningAnswer& planned);

// "The fastest plan on each of 12 mixes of nodes; ..."
std::string fleet_note(const PlanningAnswer& answer);

}  // namespace nadi::inline show
