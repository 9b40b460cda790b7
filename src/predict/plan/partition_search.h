// The best partition of a model's layers over the stages of a pipeline, and the best kind of each stage.
//
//   PartitionProblem problem{.shape = {.stages = 4, .micro_batches = 8}, .layers = 48, .kinds = {{}}};
//   problem.costs = ...; problem.most_layers = ...; problem.send_between = ...;
//   problem.exact = [&](std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers) { ... };
//   const PartitionAnswer answer = search_partition(problem, {});
//   answer.layers, answer.nanoseconds, answer.lower_bound
//
// What is minimised is `exact`: the latency of the pipeline with what follows it. The slowest stage alone is
// not it: partitions with equally slow stages differ in latency.
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

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "nadi/plan/partition_bound.h"

namespace nadi::inline predict {

inline constexpr std::int64_t kNeverEnds = std::numeric_limits<std::int64_t>::max() / 4;

struct PartitionStageKind {
  std::vector<std::int32_t> nodes = {};  // that a block takes, by kind of node; empty means none
  std::int64_t stages_per_block = 1;     // stages one after the other; the last block may have fewer
  PartitionSend send_within = {};        // from a stage to the next one of the same block
};

struct PartitionProblem {
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

  // Nanoseconds of a pipeline with stages of these kinds and these layers. Never below its PathBound with
  // `after_tails`.
  // kNeverEnds: it must not be taken.
  std::function<std::int64_t(std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers)>
      exact = {};

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

struct PartitionEffort {
  std::int64_t better_than = kNeverEnds;  // answers that take as long or longer are of no interest
  double tolerance = 0;                   // a gap that need not be closed, as a share of the answer
  std::int64_t bounds = 1'000'000;        // that the search in depth may work out
  std::size_t labels = 16;                // bounds kept of one state; more are merged
  std::function<bool()> stop = {};        // true: the effort is spent
};

// Work of evaluating one pipeline.
constexpr std::int64_t evaluation_work(const PipelineShape& shape) {
  return 2 * shape.stages * shape.virtual_stages * shape.micro_batches;
}

struct PartitionAnswer {
  std::vector<std::int32_t> kinds;   // by stage; empty means nothing better than `better_than` was found
  std::vector<std::int64_t> layers;  // by stage
  std::int64_t nanoseconds = kNeverEnds;
  // No partition takes less; kNeverEnds: no partition exists. Where nothing was found, at least `better_than`
  // unless the effort was spent.
  std::int64_t lower_bound = 0;
  std::int64_t evaluated = 0;  // calls of `exact`
  // What it took, wherever it ran: bounds, and passes of pipelines that were evaluated.
  std::int64_t work = 0;
  bool found() const { return !layers.empty(); }
};

PartitionAnswer search_partition(const PartitionProblem& problem, const PartitionEffort& effort);

}  // namespace nadi::inline predict
