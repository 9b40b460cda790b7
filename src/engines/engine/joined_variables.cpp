#include "nadi/engine/joined_variables.h"

#include <utility>

namespace nadi::inline engines {

std::int64_t JoinedVariables::elements_of(const Graph& graph, const OpRun& ops) {
  std::int64_t elements = 0;
  for (std::uint32_t i = ops.first; i < ops.end; ++i)
    elements += graph.tensor(graph.ops()[i].outputs[0].tensor).shape.elements();
  return elements;
}

void JoinedVariables::widen(OperandLayout& operand, std::int64_t elements) {
  Tensor joined = *operand.tensor;
  joined.shape = Shape{elements};
  tensors_.push_back(std::move(joined));
  operand.tensor = &tensors_.back();
  operand.strides = {1};
}

}  // namespace nadi::inline engines
