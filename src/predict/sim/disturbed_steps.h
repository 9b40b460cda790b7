// Which steps of a run were disturbed by what else the machine did, by the rule of base/processor_use.h: they
// say nothing about a prediction of the undisturbed machine.
//
//   const JudgedSteps judged = judge_steps({processor_use_by_step(rank_0), processor_use_by_step(rank_1)});
//   compare_rank(trace, rank, predicted, judged.disturbed);
//
// Steps that are too short to be judged by themselves are judged together with those that follow them; what
// remains in the end belongs to the last of such groups. The ranks are those of one machine: what they use
// together is no disturbance.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "nadi/base/processor_use.h"

namespace nadi::inline predict {

struct JudgedSteps {
  std::set<std::int64_t> judged = {};
  std::set<std::int64_t> disturbed = {};  // of them
};

// By rank, each by step. A step counts where all ranks say what their processors did.
JudgedSteps judge_steps(std::span<const std::map<std::int64_t, ProcessorUse>> ranks);

}  // namespace nadi::inline predict
