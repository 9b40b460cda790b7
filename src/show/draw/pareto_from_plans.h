// Plans of a search as points of a page of time against money.
//
//   ParetoPage page = pareto_of_plans({.question = question, .front = front, .behind = behind});
#pragma once

#include <span>

#include "nadi/draw/pareto_page.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"

namespace nadi::inline ask {
struct SimulatedWork;
}  // namespace nadi::inline ask

namespace nadi::inline show {

struct ParetoPlans {
  const PlanQuestion& question;
  const SimulatedWork& work;
  std::span<const RankedPlan> front;
  std::span<const RankedPlan> behind = {};
};

// Title and points. Plans whose nodes have no price are left out.
ParetoPage pareto_of_plans(const ParetoPlans& plans);

}  // namespace nadi::inline show
