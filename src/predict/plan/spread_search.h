// The best partition of an interleaved pipeline whose layers are spread evenly over the chunks of each stage,
// over several orders of stages, with a bound for all of them.
//
//   const SpreadAnswer answer = search_spread(problem, {.better_than = known, .work = 1'000'000});
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
#include <functional>
#include <span>
#include <vector>

#include "nadi/plan/partition_search.h"
#include "nadi/plan/plan_tables.h"

namespace nadi::inline predict {

struct SpreadOrder {
  PlanTables tables;
  std::vector<std::int64_t> most_layers;               // by stage, as memory has room
  std::vector<std::span<const PartitionCosts>> after;  // by stage and layers: `tail` and `update` of these
};

struct SpreadProblem {
  std::vector<SpreadOrder> orders;
  // Nanoseconds of a partition, layers by stage; kNeverEnds: it must not be taken.
  std::function<std::int64_t(std::size_t order, std::span<const std::int64_t> layers)> exact = {};
};

struct SpreadEffort {
  std::int64_t better_than = kNeverEnds;  // partitions that take as long or longer are of no interest
  std::int64_t work = 0;                  // passes of pipelines and steps of tables that may be looked at
  std::function<bool()> stop = {};        // true: the work is done
};

struct SpreadAnswer {
  std::size_t order = 0;
  std::vector<std::int64_t> layers = {};  // by stage; empty means nothing better than asked was found
  std::int64_t nanoseconds = kNeverEnds;
  std::int64_t lower_bound = 0;  // at most `nanoseconds`, or `better_than` where nothing was found
  std::int64_t evaluated = 0;    // calls of `exact`
  std::int64_t work = 0;
  bool found() const { return !layers.empty(); }
};

SpreadAnswer search_spread(const SpreadProblem& problem, const SpreadEffort& effort);

}  // namespace nadi::inline predict
