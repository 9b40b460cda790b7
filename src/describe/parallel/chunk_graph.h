// The graph of a chunk of consecutive layers: the work of one pipeline stage for one micro-batch, forward and
// backward, with its messages to and from the neighbouring stages. An unsplit model is one chunk.
#pragma once

#include <optional>
#include <vector>

#include "nadi/graph/gradient.h"
#include "nadi/graph/graph.h"
#include "nadi/graph/optimizer.h"
#include "nadi/model/forward_options.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

struct ChunkRequest {
  ForwardOptions options;         // seq_length: of this rank
  std::int64_t whole_tokens = 0;  // tokens of a sequence on all context-parallel ranks
  std::int64_t number = 0;        // position of the chunk in the model
  std::int64_t chunks = 1;        // chunks of the model
  std::int64_t first_layer = 0;
  std::int64_t end_layer = 0;
  Recompute recompute = {};
  bool accumulate = false;  // gradients and loss, over micro-batches
  bool names = true;        // of ops and values; false means only the costs are wanted

  bool first() const { return number == 0; }
  bool last() const { return number + 1 == chunks; }
};

struct OpSpan {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  bool empty() const { return first == end; }
};

struct ChunkGraph {
  Graph graph;
  // In this order, without gaps. Empty where a chunk has no such neighbour, or does not train.
  OpSpan receive_input, forward, send_output, receive_gradient, backward, send_gradient;
  std::vector<Backward::ParameterGradient> gradients;
};

ChunkGraph build_chunk(const ModelConfig& config, const Plan& plan, const ChunkRequest& request);

}  // namespace nadi::inline describe
