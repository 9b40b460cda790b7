// What the stages of a pipeline can be made of, and which nodes that takes.
//
//   const StageMakes makes = stage_makes(cluster, nodes, {.ranks = tp * dp, .tp = tp, .stages = pp});
//   runs_of(makes, std::vector<std::int32_t>{0, 0, 1, 0})         // make of each stage
//
// A block is a group of nodes that one stage takes whole, or one node that several stages share. Blocks that
// take the same numbers of nodes of each kind are one make: which of two equal nodes comes first makes no
// difference, so a placement is a sequence of makes. Every node gives as many devices as the degrees have use
// for; devices that are left over stay idle.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/plan/plan_candidate.h"

namespace nadi::inline predict {

struct StageMake {
  std::vector<NodeRun> nodes;  // of a block, kinds ascending
  std::int64_t stages = 1;     // that share a block
  std::int64_t blocks = 0;     // for which there are nodes, if no other make takes any
};

struct StageNeed {
  std::int64_t ranks = 1;  // of a stage
  std::int64_t tp = 1;     // that should be in one node
  std::int64_t stages = 1;
  bool all_devices = false;  // of a node that is used
};

struct StageMakes {
  StageNeed need;
  std::vector<StageMake> makes;
  // Ways to mix kinds of nodes in a stage were too many: only those are here that use up what stages of one
  // kind leave over.
  bool mixes_left_out = false;
};

// `nodes` by kind: those that may be used.
StageMakes stage_makes(const Cluster& cluster, std::span<const std::int32_t> nodes, const StageNeed& need);

// The runs of a placement. Each block but the last has all of its stages.
std::vector<NodeRun> runs_of(const StageMakes& makes, std::span<const std::int32_t> make_of_stage);

// Placements that together have every make at every stage where it can be, as far as there are nodes for
// that, and every two makes that can follow each other: what tables of stages are taken from. None where
// `stop` says so on the way.
std::vector<std::vector<std::int32_t>> covering_orders(const StageMakes& makes,
                                                       std::span<const std::int32_t> nodes,
                                                       const std::function<bool()>& stop = {});

// All placements, in ascending order; empty where they are more than `most`, or too many have to be tried.
std::vector<std::vector<std::int32_t>> all_orders(const StageMakes& makes,
                                                  std::span<const std::int32_t> nodes, std::size_t most);

// Placements in which blocks of a make stand together, those of one make in two groups at most: the orders
// among which the best mostly is. Those with two groups first; at most `most`.
std::vector<std::vector<std::int32_t>> orders_of_runs(const StageMakes& makes,
                                                      std::span<const std::int32_t> nodes, std::size_t most);

// Numbers of nodes of each kind with which the stages can be placed and of which none can be left out. Where
// too many have to be tried, those that were found by then, and all nodes.
std::vector<std::vector<std::int32_t>> node_counts(const StageMakes& makes,
                                                   std::span<const std::int32_t> nodes);

}  // namespace nadi::inline predict
