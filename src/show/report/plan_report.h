// The answer to a search for plans as text and as JSON: `nadi plan`.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/plan/plan_search.h"
#include "nadi/report/plan_figures.h"
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
  const PlanQuestion& question;
  const PlanAnswer& answer;
  SimulatedWork work;                  // question_work()
  std::string layer_times = {};        // the file that has them; "" for none
  std::vector<RankedPlan> front = {};  // of time and money, fastest first; empty means not asked for
  const PlanExplanation* explanation = nullptr;
  std::int64_t explained = 0;  // its place among the plans, from 1
  bool of_fleet = false;       // plans are the best ones of sub-clusters, one of each
  std::int64_t subclusters = 1;
  std::optional<double> front_gap =
      {};                      // of a fleet: the largest of the mixes on its front; nullopt means not proven
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

// "gpt2-xl on a100x1-a10x7  global batch 64 x 1,024 tokens, fp16 with gradients reduced in fp16"
std::string question_text(const PlanQuestion& question, const std::string& layer_times);

// Why nothing fits, and by how much the nearest plan misses: for the error of a search without an answer.
std::string nearest_miss_text(const PlanQuestion& question, const PlanAnswer& answer);

}  // namespace nadi::inline show
