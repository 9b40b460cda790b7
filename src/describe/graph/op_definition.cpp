#include "nadi/graph/op_definition.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline describe {

void OpView::refuse(const std::string& why) const {
  std::string inputs;
  for (const TensorId id : op.inputs) {
    if (!inputs.empty()) inputs += ", ";
    if (id == kNoTensor) {
      inputs += "-";
      continue;
    }
    const Tensor& tensor = graph.tensor(id);
    inputs += format("{} {}{}", tensor.name, to_string(tensor.dtype), tensor.shape.to_string());
  }
  throw input_error({}, format("op '{}' ({}): {}; inputs: {}", op.name, to_string(op.kind), why, inputs));
}

OpCost& OpCost::operator+=(const OpCost& other) {
  matrix += other.matrix;
  vector += other.vector;
  read += other.read;
  written += other.written;
  sent += other.sent;
  return *this;
}

bool meets_others(const Op& op) {
  switch (definition(op.kind).op_class) {
    case OpClass::kCompute:
    case OpClass::kView:
      return false;
    case OpClass::kCollective:
      return op.attributes.integer("group_size") > 1;
    case OpClass::kPointToPoint:
      return true;
  }
  unreachable();
}

OpCost cost_of(const Graph& graph, const Op& op, const CostContext& context) {
  const OpDefinition& def = definition(op.kind);
  OpCost cost;
  if (def.op_class == OpClass::kView) return cost;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == kNoTensor) continue;
    bool repeated = false;  // x * x reads x once
    for (std::size_t j = 0; j < i; ++j) repeated |= op.inputs[j] == op.inputs[i];
    if (!repeated) cost.read += graph.tensor(op.inputs[i]).size();
  }
  for (const OpOutput& output : op.outputs) {
    const Bytes size = graph.tensor(output.tensor).size();
    cost.written += size;
    if (output.accumulate) {
      cost.read += size;
      cost.vector += Flops{graph.tensor(output.tensor).shape.elements()};
    }
  }
  if (def.cost != nullptr) def.cost(OpView{graph, op}, context, cost);
  return cost;
}

}  // namespace nadi::inline describe
