// What every search for a partition is asked, and answers: how many layers the stages of a pipeline have and what
// they are made of, so that `exact` is least. Three problems, from what is known of a pipeline before it is timed:
//
//   StagesProblem   (partition_search.h)    any order of kinds of stages, each with costs by its number of layers
//   SpreadProblem   (spread_search.h)       interleaved, layers spread evenly over each stage's chunks, some orders
//   ChunksProblem   (interleaved_search.h)  interleaved, layers of each chunk by itself, one order
//
//   problem.exact = [&](std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers) { ... };
//   const PartitionAnswer answer = problem.solve({.better_than = known, .work = 1'000'000});
//   answer.layers, answer.nanoseconds, answer.lower_bound
//
// What is minimised is the latency of the pipeline with what follows it. The slowest stage alone is not it:
// partitions with equally slow stages differ in latency.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace nadi::inline predict {

inline constexpr std::int64_t kNeverEnds = std::numeric_limits<std::int64_t>::max() / 4;

struct PartitionEffort {
  std::int64_t better_than = kNeverEnds;  // answers that take as long or longer are of no interest
  double tolerance = 0;                   // a gap that need not be closed, as a share of the answer
  std::int64_t work = 1'000'000;          // bounds, paths and partitions that a proof may look at
  std::size_t labels = 16;                // bounds kept of one state; more are merged
  std::function<bool()> stop = {};        // true: the effort is spent
};

struct PartitionAnswer {
  std::vector<std::int32_t> kinds;   // by stage
  std::vector<std::int64_t> layers;  // by stage, or by chunk; empty means nothing better than `better_than`
  std::int64_t nanoseconds = kNeverEnds;
  // No partition takes less; kNeverEnds: no partition exists. Where nothing was found, at least `better_than`
  // unless the effort was spent.
  std::int64_t lower_bound = 0;
  std::int64_t evaluated = 0;  // calls of `exact`
  // What it took, wherever it ran: bounds, and passes of pipelines that were evaluated.
  std::int64_t work = 0;
  bool found() const { return !layers.empty(); }
};

class PartitionProblem {
 public:
  virtual ~PartitionProblem() = default;
  virtual PartitionAnswer solve(const PartitionEffort& effort) const = 0;

  // Nanoseconds of a pipeline with stages of these kinds and these layers; kNeverEnds: it must not be taken.
  std::function<std::int64_t(std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers)>
      exact = {};
};

}  // namespace nadi::inline predict
