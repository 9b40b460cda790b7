// The best plans for a model on described hardware: what `nadi plan` is asked.
//
//   const PlanningAnswer answer = plan({.step = {.model = "gpt2-xl", .global_batch_size = 64},
//                                       .on = {.cluster = "a10-8x4"}}, {.top = 3});
//   answer.found.plans[0].candidate, answer.found.plans[0].simulated
//
// Of a cluster, the answer has the best plans of the space, best first; of a fleet, the best plan of each mix of
// nodes. With `front` it also has which of them no other beats in time and money.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/plan/fleet.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"
#include "nadi/prediction/assumptions.h"
#include "nadi/prediction/simulation_figures.h"
#include "nadi/step/step_question.h"

namespace nadi::inline ask {

struct PlanningQuestion {
  StepQuestion step = {};  // of training, with global_batch_size; how it is split is the answer
  PredictionQuestion on = {};
  std::string fleet = {};  // a file of read_fleet(), in place of on.cluster
  // Of a machine that was measured with several numbers of ranks: this number.
  std::optional<std::int64_t> ranks = {};
  PlanSpace space = {};
  PlanObjective objective = PlanObjective::kTime;
  std::string budget = {}, deadline = {};   // plan_limits.h; empty: any
  std::optional<double> memory_share = {};  // else PlanLimits::memory_share
  bool front = false;                       // of a cluster, too: of the best plans on each part of it
};

// Every default decided.
struct ResolvedPlanning {
  PlanQuestion question;
  PredictionAssumptions assumed;
  SimulatedWork work;          // of a step
  std::optional<Fleet> fleet;  // nothing means of a cluster
};

struct PlanningAnswer {
  ResolvedPlanning asked;
  PlanAnswer found;                  // best first; of a fleet without bounds, which mixes have each
  std::vector<RankedPlan> front;     // of time and money, fastest first; of a fleet, or asked for
  std::vector<RankedPlan> behind;    // plans of the mixes that others beat in both
  std::int64_t subclusters = 1;      // mixes of nodes that were searched for the front
  std::int64_t front_evaluated = 0;  // plans, in the search for the front
  // Of a fleet, the largest gap of the mixes on its front; nothing: one of them was not searched to the end.
  std::optional<double> front_gap = {};
  std::vector<FleetChoice> parts = {};  // of a cluster, the parts that the front was looked for on
};

// How far a search has come, for those who wait.
struct PlanningWatch {
  SearchOptions search = {};
  // Before each plan of a front that is simulated: how many are done, of how many. False: the rest keep their
  // estimates.
  std::function<bool(std::int64_t, std::int64_t)> front = {};
  std::function<void()> searched = {};  // a search has ended, and nothing of it is reported any more
};

// Error (usage) for fields that make no sense together, values that no model has, a request that does not fit the
// model, and what load_model_config(), load_cluster(), read_fleet() and LayerTimes throw.
ResolvedPlanning resolve(const PlanningQuestion& question);
// No plans means that nothing fits: then found.nearest says by how much.
PlanningAnswer plan(ResolvedPlanning asked, const PlanningWatch& watch);
PlanningAnswer plan(const PlanningQuestion& question, const SearchOptions& options = {});

// Fills in the front of a cluster's answer. Error (usage) where nodes have no price.
void add_front(PlanningAnswer& answer, const PlanningWatch& watch);

// The first `top` by the objective, simulated times before estimates.
void rank_plans(PlanObjective objective, std::vector<RankedPlan>& plans, std::int64_t top);

}  // namespace nadi::inline ask
