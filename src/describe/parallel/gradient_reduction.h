// From the gradients of the backward passes to the update: buckets of gradients are summed over the ranks
// that hold the same parameters; then the optimizer runs, on whole parameters or (ZeRO stage 1) on the part
// of every bucket that a data-parallel rank owns.
//
// Which parameters make a bucket, and when, says parameter_layout.h. A bucket can be reduced as soon as the
// backward pass of the last micro-batch has written the last of its gradients, while the pass goes on. Parameters
// that more than the data-parallel ranks share (norms under sequence parallelism, embeddings tied across stages)
// are summed over those ranks first, in buckets of their own, at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nadi/graph/graph.h"
#include "nadi/graph/optimizer.h"
#include "nadi/parallel/chunk_graph.h"
#include "nadi/parallel/parameter_layout.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/variable_buckets.h"

namespace nadi::inline describe {

struct ReductionRequest {
  std::string tied_parameter = {};  // one that another stage holds, too; "" for none
  std::int64_t stage = 0;
  bool fp16 = false;  // dynamic loss scale
  OptimizerOptions optimizer = {};
};

// The sections of the graph that follows the chunks' graphs, as spans of its ops.
struct ReductionGraph {
  Graph graph;
  struct Bucket {
    OpSpan ops;
    std::size_t chunk = 0;          // index into the chunks given
    std::uint32_t ready_after = 0;  // op of that chunk's graph
    bool at_end = false;            // not before all backward passes are done
  };
  std::vector<Bucket> buckets;  // as the layout has them
  OpSpan optimizer;
  // Updated parts that the ranks give to each other where that is not a part of the optimizer: before the forward
  // passes of the next step, in the order in which these need them.
  std::vector<OpSpan> gathers;
  // What each bucket has: gradients, parameters, and each kind of optimizer state. Buckets that are not reduced lie
  // one after the other, as one.
  std::vector<VariableBucket> variables;
};

ReductionGraph build_reduction(std::span<const ChunkGraph> chunks, const Plan& plan,
                               const ReductionRequest& request, const LayoutRules& rules = {});

}  // namespace nadi::inline describe
