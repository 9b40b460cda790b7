// The best partition of an interleaved pipeline whose layers are spread evenly over the chunks of each stage,
// over several orders of stages, with a bound for all of them.
//
//   const PartitionAnswer answer = problem.solve({.better_than = known, .work = 1'000'000});
//   answer.lower_bound                            // no partition in any of these orders takes less
//
// Method. The longest path through the schedule of one partition is a path for every other one, too
// (PipelinePath), with times that are sums over stages, each of which depends on the layers of its stage
// alone. So any mean of paths is a bound, and the partition with the least mean is found by dynamic
// programming over stages. Paths are collected where they are needed: the partition that is least under the
// mean at hand is evaluated, its own longest path is added, and the weights of the mean are those with which
// the least is highest: a matrix game of paths against partitions (matrix_game.h). What is left between this
// bound and the best partition comes from layers being whole: then the range of layers of one stage is
// halved, and both halves are searched, the lowest bound first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/plan/partition_bound.h"
#include "nadi/plan/partition_problem.h"
#include "nadi/plan/plan_estimate.h"

namespace nadi::inline predict {

struct SpreadOrder {
  std::vector<std::int32_t> kinds;  // of the stages
  PlanTables tables;
  std::vector<std::int64_t> most_layers;               // by stage, as memory has room
  std::vector<std::span<const PartitionCosts>> after;  // by stage and layers: `tail` and `update` of these
};

struct SpreadProblem final : PartitionProblem {
  std::vector<SpreadOrder> orders;

  // The bound is at most the time of the answer, or `better_than` where there is none.
  PartitionAnswer solve(const PartitionEffort& effort) const override;
};

}  // namespace nadi::inline predict
