// For tests: every kind of plan, each to be held against a single rank.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"

namespace nadi {

struct PlanCase {
  std::string name;
  Plan plan;
  StepRequest request = {};
};

void PrintTo(const PlanCase& plan_case, std::ostream* out);

// For models of four layers and at least 8 sequences of 8 tokens.
std::vector<PlanCase> plan_cases();

// Of models with a number of experts that is even.
std::vector<PlanCase> expert_plan_cases();

}  // namespace nadi
