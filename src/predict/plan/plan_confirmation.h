// A candidate in the discrete-event simulator: its programs are built, placed and replayed. The oracle of
// estimates, and what the best candidates of a search are ranked by in the end.
#pragma once

#include "nadi/plan/plan_candidate.h"
#include "nadi/plan/plan_question.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

SimulationResult simulate_plan(const PlanQuestion& question, const PlanCandidate& candidate,
                               bool keep_times = false);

}  // namespace nadi::inline predict
