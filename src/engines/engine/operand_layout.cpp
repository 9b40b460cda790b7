#include "nadi/engine/operand_layout.h"

#include "nadi/graph/ops/views.h"

namespace nadi::inline engines {

OperandLayout operand_layout(const Graph& graph, TensorId id) {
  if (id == kNoTensor) return {};
  Layout layout = layout_of(graph, id);
  const Tensor& tensor = graph.tensor(id);
  return {.root = layout.root,
          .tensor = &tensor,
          .byte_offset = layout.offset * size_of(tensor.dtype),
          .strides = std::move(layout.strides)};
}

}  // namespace nadi::inline engines
