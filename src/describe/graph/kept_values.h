// What a forward pass keeps for its backward pass: the figure that papers call activation memory.
//
//   const std::vector<KeptValue> kept = kept_for_backward(chunk.graph);
//
// A value counts when a forward op made it and an op of the backward pass, or one that is recomputed for it,
// reads it, itself or through a view. Weights, inputs and constants are no values. What lives within the
// forward or within the backward pass only comes on top while it lives: see memory_plan.h.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/graph.h"

namespace nadi::inline describe {

struct KeptValue {
  TensorId tensor = kNoTensor;
  std::int32_t block = -1;  // the transformer block that made it, -1 outside of blocks
  Bytes size;
};

std::vector<KeptValue> kept_for_backward(const Graph& graph);  // in the order in which they are made

}  // namespace nadi::inline describe
