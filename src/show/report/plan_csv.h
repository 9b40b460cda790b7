// Plans of a search as lines of CSV, one by one: `nadi plan --all`.
//
//   std::string lines = plans_csv_header();
//   append_plan_csv(lines, question, candidate, estimate);
#pragma once

#include <string>

#include "nadi/plan/plan_candidate.h"
#include "nadi/plan/plan_estimate.h"
#include "nadi/plan/plan_question.h"

namespace nadi::inline show {

std::string plans_csv_header();
void append_plan_csv(std::string& lines, const PlanQuestion& question, const PlanCandidate& candidate,
                     const PlanEstimate& estimate);

}  // namespace nadi::inline show
