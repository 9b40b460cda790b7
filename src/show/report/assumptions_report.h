// What a prediction assumed, as JSON and as lines of text: the same for `nadi simulate` and `nadi plan`.
#pragma once

#include <vector>

#include "nadi/base/json.h"
#include "nadi/prediction/assumptions.h"
#include "nadi/tables/report_facts.h"

namespace nadi::inline show {

// Keys: docs/json.md.
Json assumptions_json(const PredictionAssumptions& assumed);

// "trained by" with the framework, where something is trained; "assumed" with all that is said nowhere else.
std::vector<ReportFact> assumption_facts(const PredictionAssumptions& assumed);

}  // namespace nadi::inline show
