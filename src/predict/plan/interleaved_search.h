// The best partition of layers over the chunks of an interleaved pipeline.
//
//   ChunksProblem problem; problem.tables = estimator.tables(candidate); problem.plain = ...;
//   problem.kinds = order; problem.exact = ...;
//   const PartitionAnswer answer = problem.solve({});                 // its layers by virtual stage
//
// Every partition that is not ruled out by the bound of a stage is tried: after the messages that it waits
// for, a stage runs all micro-batches of all of its chunks. Its gradients are reduced while its last
// backwards run, those of as many micro-batches as there are stages in all chunks but the one that comes
// last; what the same layers in one chunk have to reduce and that does not hide comes after.
//
// Where partitions are too many for that, stages are searched with their layers spread evenly over chunks
// (setting_search.h), and improve_chunks() goes on from there: layers move from chunk to chunk as long as
// that is better.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/plan/partition_problem.h"
#include "nadi/plan/plan_estimate.h"

namespace nadi::inline predict {

struct ChunksProblem final : PartitionProblem {
  std::vector<std::int32_t> kinds = {};  // of the stages
  PlanTables plain = {};                 // of the same stages with one chunk each
  PlanTables tables = {};

  // The best partition if it is better than asked for; its time is the bound.
  PartitionAnswer solve(const PartitionEffort& effort) const override;
};

// What moves of single layers make of an answer with its time, in so many tries. Counts these alone.
PartitionAnswer improve_chunks(const PartitionProblem& problem, PartitionAnswer from, std::int64_t tries);

}  // namespace nadi::inline predict
