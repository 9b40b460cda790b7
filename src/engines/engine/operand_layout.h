// Where an op finds an operand: in the memory of which tensor, how far from its begin, and with which
// strides. Decided by the graph alone, once; a run adds the address of the tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/graph/graph.h"

namespace nadi::inline engines {

struct OperandLayout {
  TensorId root = kNoTensor;  // what it is a view of, or itself; kNoTensor where an optional input is absent
  const Tensor* tensor = nullptr;
  std::int64_t byte_offset = 0;
  std::vector<std::int64_t> strides = {};  // in elements, one per axis
};

OperandLayout operand_layout(const Graph& graph, TensorId tensor);

}  // namespace nadi::inline engines
