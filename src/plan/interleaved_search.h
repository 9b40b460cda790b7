// The best partition of layers over the chunks of an interleaved pipeline.
//
//   InterleavedProblem problem{.tables = estimator.tables(candidate), .plain = ...};
//   problem.exact = [&](std::span<const std::int64_t> layers) { ... };
//   const PartitionAnswer answer = search_interleaved(problem, {});     // its layers by virtual stage
//
// The lower bound is that of the slowest stage: after the messages that it waits for, each stage runs all
// micro-batches of all of its chunks. Its gradients are reduced while its last backwards run, those of as
// many micro-batches as there are stages in all chunks but the one that comes last; what the same layers in
// one chunk have to reduce and that does not hide comes after. The first answer has the layers over stages
// with the least slowest one, evenly over chunks. Then layers move from chunk to chunk as long as that is
// better. Where all partitions are few enough for the effort, each that is not ruled out by the bound of a
// stage is tried, and the answer is the best one. Where they are not, and the even one does not fit in
// memory, none is taken to.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nadi/plan/partition_search.h"
#include "nadi/plan/plan_tables.h"

namespace nadi {

struct InterleavedProblem {
  PlanTables plain;  // of the same stages with one chunk each
  PlanTables tables;
  std::vector<std::int64_t> given_layers = {};  // by virtual stage; empty: any
  // Nanoseconds; kNeverEnds: it does not fit.
  std::function<std::int64_t(std::span<const std::int64_t> layers)> exact = {};
};

PartitionAnswer search_interleaved(const InterleavedProblem& problem, const PartitionEffort& effort);

}  // namespace nadi
