// What a plan means to its user: seconds, throughput, utilization, money, memory.
//
//   const SimulatedWork work = question_work(question);
//   const PlanFigures figures = plan_figures(question, work, answer.plans[0]);
//   figures.time, figures.dollars_per_step
#pragma once

#include <cstdint>
#include <optional>

#include "nadi/base/units.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"
#include "nadi/prediction/simulation_figures.h"

namespace nadi::inline ask {

// Work of a step of the question, whatever the plan.
SimulatedWork question_work(const PlanQuestion& question);

struct PlanFigures {
  Nanoseconds time = {};  // simulated; estimated where the plan was not confirmed
  double samples_per_second = 0, tokens_per_second = 0;
  std::optional<double> model_flops_utilization = {};  // of the peak of the devices that are used
  std::optional<double> dollars_per_hour = {}, dollars_per_step = {}, dollars_per_million_tokens = {};
  // Memory of the device that is fullest, as a share of what it has.
  Bytes memory = {}, capacity = {};
  std::int32_t fullest_stage = 0;
};
PlanFigures plan_figures(const PlanQuestion& question, const SimulatedWork& work, const RankedPlan& plan);

}  // namespace nadi::inline ask
