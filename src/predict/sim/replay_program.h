// The program of a stage as the replay wants it: the walk over it, once, as flat arrays.
//
//   const StageReplay stage = flatten(program, plan, options.overlap, stage);
//   stage.replay.nodes[i]                                    // step stage.steps[i] of the walk
//
// Computation is on stream 0, in the order of the program. Communication has no stream unless it blocks: the
// walk's dependencies keep it in order. Dependencies that follow from others are left out: those of
// computation on earlier computation, all but the last of communication on computation, and those that an
// earlier node of the stream already waited for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/parallel/plan.h"
#include "nadi/parallel/program.h"
#include "nadi/parallel/rank_binding.h"
#include "nadi/sim/replay_job.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

// An op whose time is asked for once: op of a graph, at a position of the KV cache where that matters.
struct StageOp {
  std::uint32_t graph = 0;
  OpId op{};
  std::int64_t position = -1;  // -1 means any
  std::int64_t count = 0;      // nodes
};

struct StageReplay {
  ReplayProgram replay;
  std::vector<StageOp> ops;                // by ReplayNode::op
  std::vector<RankBinding> roles;          // by role
  std::vector<CommunicationShare> shares;  // group, op, count and bytes
  std::vector<std::uint32_t> steps;        // by node: StepOpId; empty means the same number
  std::vector<std::uint32_t> graph_ops;    // by node: its op, counted through all graphs of the program
};

// `stage` says which order the exchanges have where they block (exchange_order.h), and nothing else.
StageReplay flatten(const Program& program, const Plan& plan, const OverlapOptions& overlap,
                    std::int64_t stage = 0);

}  // namespace nadi::inline predict
