// The best partition of layers over the chunks of an interleaved pipeline.
//
//   InterleavedProblem problem{.tables = estimator.tables(candidate), .plain = ...};
//   problem.exact = [&](std::span<const std::int64_t> layers) { ... };
//   const PartitionAnswer answer = search_interleaved(problem, kNeverEnds);     // its layers by virtual
//   stage
//
// Every partition that is not ruled out by the bound of a stage is tried: after the messages that it waits
// for, a stage runs all micro-batches of all of its chunks. Its gradients are reduced while its last
// backwards run, those of as many micro-batches as there are stages in all chunks but the one that comes
// last; what the same layers in one chunk have to reduce and that does not hide comes after.
//
// Where partitions are too many for that, stages are searched with their layers spread evenly over chunks
// (setting_search.h), and improve_interleaved() goes on from there: layers move from chunk to chunk as long
// as that is better.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nadi/plan/partition_search.h"
#include "nadi/plan/plan_tables.h"

namespace nadi::inline predict {

struct InterleavedProblem {
  PlanTables plain;  // of the same stages with one chunk each
  PlanTables tables;
  // Nanoseconds; kNeverEnds: it does not fit.
  std::function<std::int64_t(std::span<const std::int64_t> layers)> exact = {};
};

// The best partition if it is better than asked for; its time is the bound.
PartitionAnswer search_interleaved(const InterleavedProblem& problem, std::int64_t better_than);

// `from` with its time, or what moves of single layers make of it, in so many tries.
struct MovedLayers {
  std::vector<std::int64_t> layers;
  std::int64_t nanoseconds = 0;
  std::int64_t evaluated = 0;
};
MovedLayers improve_interleaved(const InterleavedProblem& problem, MovedLayers from, std::int64_t tries);

}  // namespace nadi::inline predict
