#include "nadi/graph/printer.h"

#include "nadi/base/format.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {
namespace {

std::string type_of(const Tensor& tensor) {
  return format("{}{}", to_string(tensor.dtype), tensor.shape.to_string());
}

std::string declaration(const Tensor& tensor) {
  return format("{} {}: {}", to_string(tensor.role), tensor.name, type_of(tensor));
}

std::string attributes_of(const Op& op) {
  const std::vector<AttributeSpec>& specs = definition(op.kind).attributes;
  std::string text;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto& [name, value] = op.attributes.entries()[i];
    if (value == specs[i].fallback) continue;
    text += format("{}{}={}", text.empty() ? "" : ", ", name, to_string(value));
  }
  return text;
}

}  // namespace

std::string print_op(const Graph& graph, const Op& op) {
  std::string outputs;
  for (const OpOutput& output : op.outputs) {
    const Tensor& tensor = graph.tensor(output.tensor);
    outputs += outputs.empty() ? "" : ", ";
    if (tensor.variable) outputs += format("{} ", tensor.name);
    outputs += format("{}{}", type_of(tensor), output.accumulate ? " +" : "");
  }
  std::string inputs;
  for (const TensorId input : op.inputs)
    inputs += format("{}{}", inputs.empty() ? "" : ", ", input == kNoTensor ? "-" : graph.tensor(input).name);
  const std::string attributes = attributes_of(op);
  return format("{}: {} = {}({}){}  [{}]", op.name, outputs.empty() ? "nothing" : outputs, to_string(op.kind),
                inputs, attributes.empty() ? "" : format(" {{{}}}", attributes), to_string(op.phase));
}

std::string print_graph(const Graph& graph) {
  std::string text;
  for (const Tensor& tensor : graph.tensors())
    if (tensor.producer == kNoOp) text += declaration(tensor) + "\n";
  for (const Op& op : graph.ops()) text += print_op(graph, op) + "\n";
  return text;
}

}  // namespace nadi::inline describe
