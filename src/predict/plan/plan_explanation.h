// Why a plan, and not another: what each stage does with its time, and what the nearest other choices of each
// knob would cost.
//
//   const PlanExplanation why = explain_plan(question, answer.plans[0], {});
//   why.stages[3].bubble, why.alternatives[0].knob
//
// The times of stages are the simulator's. An alternative is the best plan that has one knob at another value
// and all others as in the plan, found by search_plans() in the space that is left; the partition and the
// placement follow the change.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"

namespace nadi::inline predict {

// A stage as its rank that computes longest has it, over the whole step.
struct ExplainedStage {
  std::int32_t first_rank = 0, last_rank = 0;  // ranks of a stage are numbered one after the other
  std::int64_t layers = 0;                     // of all its chunks
  std::string device = {};                     // of that rank
  Nanoseconds computed = {};                   // without the optimizer
  Nanoseconds optimizer = {};
  Nanoseconds exposed = {};  // communication that computation waited for
  // Idle: other stages had not come yet, or had still to finish; or the host had not launched yet.
  Nanoseconds bubble = {};
  std::string longest_wait = {};  // kind of communication that it waited for longest: "dp all_reduce"
  Nanoseconds longest_wait_time = {};
  Bytes memory = {}, capacity = {};  // of its fullest device
};

struct PlanAlternative {
  std::string knob;                          // "micro-batch", "recompute"
  std::string choice;                        // "2", "full"
  std::optional<RankedPlan> plan = {};       // nullopt means none fits
  std::optional<Bytes> missing_memory = {};  // where memory is why
};

struct PlanExplanation {
  RankedPlan plan;
  Nanoseconds simulated = {};
  std::vector<ExplainedStage> stages;
  std::size_t slowest = 0;                         // stage that computes longest
  std::size_t fullest = 0;                         // stage whose memory is fullest
  std::vector<PlanAlternative> alternatives = {};  // by knob, in the order of what they cost
};

// `stop` as in SearchOptions: alternatives that were not looked at are missing then.
PlanExplanation explain_plan(const PlanQuestion& question, const RankedPlan& plan,
                             const std::function<bool()>& stop);

}  // namespace nadi::inline predict
