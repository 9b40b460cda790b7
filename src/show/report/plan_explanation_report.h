// Why a plan is what it is, as text and as JSON: `nadi plan --explain`.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "nadi/base/json.h"
#include "nadi/plan/plan_explanation.h"
#include "nadi/prediction/simulation_figures.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline show {

// `place`: among the plans, from 1.
Json explanation_json(const PlanExplanation& why, const PlanQuestion& question, const SimulatedWork& work,
                      std::int64_t place);
void print_explanation(const PlanExplanation& why, const PlanQuestion& question, std::int64_t place,
                       std::ostream& out, const ReportStyle& style);

}  // namespace nadi::inline show
