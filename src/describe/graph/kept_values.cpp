#include "nadi/graph/kept_values.h"

#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {

std::vector<KeptValue> kept_for_backward(const Graph& graph) {
  std::vector<std::size_t> root(graph.tensors().size());
  for (std::size_t t = 0; t < root.size(); ++t) root[t] = t;
  std::vector<char> read_later(root.size(), 0);
  for (const Op& op : graph.ops()) {
    if (definition(op.kind).op_class == OpClass::kView) {
      for (const OpOutput& output : op.outputs) root[index(output.tensor)] = root[index(op.inputs[0])];
      continue;
    }
    if (op.phase != Phase::kBackward && op.phase != Phase::kRecompute) continue;
    for (const TensorId input : op.inputs)
      if (input != kNoTensor) read_later[root[index(input)]] = 1;
  }
  std::vector<KeptValue> kept;
  for (std::size_t t = 0; t < root.size(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    if (read_later[t] == 0 || tensor.producer == kNoOp) continue;
    const Op& producer = graph.op(tensor.producer);
    if (producer.phase != Phase::kForward) continue;
    kept.push_back(
        {.tensor = TensorId{static_cast<std::uint32_t>(t)}, .block = producer.block, .size = tensor.size()});
  }
  return kept;
}

}  // namespace nadi::inline describe
