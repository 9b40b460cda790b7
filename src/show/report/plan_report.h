// The answer to a search for plans as text and as JSON: `nadi plan`.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/plan/plan_search.h"
#include "nadi/prediction/planning_question.h"
#include "nadi/tables/report_style.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline predict {
struct PlanExplanation;
}  // namespace nadi::inline predict

namespace nadi::inline show {

// The explained plan as Megatron-LM takes it (megatron/megatron_command.h).
struct MegatronText {
  std::string partition, layout, command;
  std::vector<std::string> notes = {}, problems = {};
};

struct PlanView {
  const PlanningAnswer& answer;
  const PlanExplanation* explanation = nullptr;
  std::int64_t explained = 0;  // its place among the plans, from 1
  MegatronText megatron = {};  // of the explained plan
};

// Keys: docs/json.md.
Json plan_report_json(const PlanView& view);
void print_plans(const PlanView& view, std::ostream& out, const ReportStyle& style);

// One row per plan, for people.
ReportTable plans_table(const PlanQuestion& question, const SimulatedWork& work,
                        std::span<const RankedPlan> plans);

// One plan as JSON; `place` from 1.
Json ranked_plan_json(const PlanQuestion& question, const SimulatedWork& work, const RankedPlan& plan,
                      std::int64_t place);

// "global batch 64 x 1,024 tokens, fp16 with gradients reduced in fp16, fused attention"
std::string question_text(const ResolvedPlanning& asked);

// Why nothing fits, and by how much the nearest plan misses: for the error of a search without an answer.
std::string nearest_miss_text(const PlanQuestion& question, const PlanAnswer& answer);

}  // namespace nadi::inline show
