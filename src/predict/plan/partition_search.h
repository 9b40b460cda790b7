// The best partition of a model's layers over the stages of a pipeline, and the best kind of each stage.
//
//   StagesProblem problem;
//   problem.costs = ...; problem.most_layers = ...; problem.send_between = ...; problem.exact = ...;
//   const PartitionAnswer answer = problem.solve({});
//
// Method. Dynamic programming from the last stage to the first over (stage, layers placed, kind of the stage,
// nodes used), with sets of bounds of which none dominates another (partition_bound.h). That proves a lower
// bound and gives a first answer. Where `exact` of the answer is above the bound, a search in depth goes
// through all partitions whose bound is below the best answer so far, until none is left (`proven`), the gap
// is below the tolerance, or the effort is spent.
//
// Kinds of stages are what stages can be made of: devices of one kind of node, or of several. A block is a
// group of nodes that one stage takes, or a node that several stages after each other share. Nodes are
// counted, never numbered: sequences that differ in which of two equal nodes comes first are one.
//
// For a given sequence of stages give each stage the one kind that it may have (most_layers).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nadi/plan/partition_bound.h"
#include "nadi/plan/partition_problem.h"

namespace nadi::inline predict {

struct PartitionStageKind {
  std::vector<std::int32_t> nodes = {};  // that a block takes, by kind of node; empty means none
  std::int64_t stages_per_block = 1;     // stages one after the other; the last block may have fewer
  PartitionSend send_within = {};        // from a stage to the next one of the same block
};

struct StagesProblem final : PartitionProblem {
  PipelineShape shape = {};
  std::int64_t layers = 0;
  std::vector<PartitionStageKind> kinds = {};
  std::vector<std::int32_t> nodes = {};    // that there are, by kind of node
  std::vector<PartitionCosts> costs = {};  // by stage, kind and number of layers from 0 to `layers`
  std::vector<std::int64_t> most_layers =
      {};  // by stage and kind, as memory has room; below 0 means not this kind
  std::vector<PartitionSend> send_between = {
      {}};                                      // by kinds of a block's last and the next one's first stage
  std::vector<PartitionSend> given_sends = {};  // by stage, to the one after it, instead of those by kinds
  std::vector<std::int64_t> given_layers = {};  // by stage, where the partition is no matter of choice
  std::int64_t after_tails = 0;                 // nanoseconds, from the last tail to the updates

  // `exact` is never below the PathBound of a pipeline with `after_tails`.
  PartitionAnswer solve(const PartitionEffort& effort) const override;

  // Numbers of layers that a stage of the kind may have; most() below fewest(): none.
  std::int64_t fewest(std::int64_t stage) const {
    return given_layers.empty() ? 0 : given_layers[static_cast<std::size_t>(stage)];
  }
  std::int64_t most(std::int64_t stage, std::int64_t kind) const {
    const std::int64_t room = std::min(layers, most_layers[place(stage, kind)]);
    return given_layers.empty() ? room : std::min(room, given_layers[static_cast<std::size_t>(stage)]);
  }

  std::size_t place(std::int64_t stage, std::int64_t kind) const {
    return static_cast<std::size_t>(stage * static_cast<std::int64_t>(kinds.size()) + kind);
  }
  const PartitionCosts& cost(std::int64_t stage, std::int64_t kind, std::int64_t layers_of_stage) const {
    return costs[place(stage, kind) * static_cast<std::size_t>(layers + 1) +
                 static_cast<std::size_t>(layers_of_stage)];
  }
};

}  // namespace nadi::inline predict
