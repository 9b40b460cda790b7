// What a plan means to its user: seconds, throughput, utilization, money, memory, and the flags that ask for
// it again.
//
//   const SimulatedWork work = question_work(question);
//   const PlanFigures figures = plan_figures(question, work, answer.plans[0]);
//   figures.seconds, figures.dollars_per_step
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nadi/base/units.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"
#include "nadi/report/simulation_figures.h"

namespace nadi::inline show {

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

// "1 a100 + 7 a10", in the order in which ranks fill them; "3 g5:2" are three nodes of which each gives two
// devices, where it has more.
std::string nodes_text(const Cluster& cluster, std::span<const NodeRun> nodes);

// The same with names up to their first dot, where these differ: "1 p4d+7 g5".
std::string short_nodes_text(const Cluster& cluster, std::span<const NodeRun> nodes);

// "0-11-8-8-8-8-5-0"
std::string partition_text(std::span<const std::int64_t> partition);

// "1f1b", "interleaved x2"; "-" of one stage.
std::string schedule_text(const Plan& plan);

// As `nadi simulate` and `nadi train` take them: "--tp 2 --dp 4 --global-batch-size 64 ...". Without the
// placement, which only a plan file has.
std::string plan_flags_text(const PlanQuestion& question, const PlanCandidate& candidate);

}  // namespace nadi::inline show
