#include "nadi/graph/printer.h"

#include <algorithm>
#include <unordered_map>

#include "nadi/base/format.h"
#include "nadi/graph/op_definition.h"

namespace nadi {
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

std::string origin_of(const Graph& graph, const Op& op) {
  std::string text = format("{}, layer '{}'", to_string(op.phase), graph.layer(op.layer));
  if (op.block >= 0) text += format(", block {}", op.block);
  return text;
}

using Parts = std::vector<std::pair<std::string_view, std::string>>;

// The things that make two ops of the same name differ.
Parts parts_of(const Graph& graph, const Op& op) {
  std::string inputs, outputs;
  for (const TensorId input : op.inputs)
    inputs += format("{}{}", inputs.empty() ? "" : ", ", input == kNoTensor ? "-" : graph.tensor(input).name);
  for (const OpOutput& output : op.outputs) {
    const Tensor& tensor = graph.tensor(output.tensor);
    outputs += format("{}{} {}{}", outputs.empty() ? "" : ", ", tensor.name, type_of(tensor),
                      output.accumulate ? " (added)" : "");
  }
  return {{"kind", std::string(to_string(op.kind))},
          {"inputs", inputs},
          {"outputs", outputs},
          {"attributes", attributes_of(op)},
          {"origin", origin_of(graph, op)}};
}

template <typename Item>
std::unordered_map<std::string_view, const Item*> by_name(std::span<const Item> items) {
  std::unordered_map<std::string_view, const Item*> index;
  for (const Item& item : items) index.emplace(item.name, &item);
  return index;
}

void compare_tensors(const Graph& left, const Graph& right, std::vector<std::string>& differences) {
  const auto others = by_name(right.tensors());
  for (const Tensor& tensor : left.tensors()) {
    const auto other = others.find(tensor.name);
    if (other == others.end())
      differences.push_back(format("- {}", declaration(tensor)));
    else if (declaration(tensor) != declaration(*other->second))
      differences.push_back(
          format("~ tensor {}: {} became {}", tensor.name, declaration(tensor), declaration(*other->second)));
  }
  const auto mine = by_name(left.tensors());
  for (const Tensor& tensor : right.tensors())
    if (!mine.contains(tensor.name)) differences.push_back(format("+ {}", declaration(tensor)));
}

void compare_ops(const Graph& left, const Graph& right, std::vector<std::string>& differences) {
  const auto others = by_name(right.ops());
  const auto mine = by_name(left.ops());
  std::vector<std::string_view> order_left, order_right;
  for (const Op& op : left.ops()) {
    const auto other = others.find(op.name);
    if (other == others.end()) {
      differences.push_back(format("- op {}", print_op(left, op)));
      continue;
    }
    order_left.push_back(op.name);
    const Parts a = parts_of(left, op);
    const Parts b = parts_of(right, *other->second);
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i].second != b[i].second)
        differences.push_back(
            format("~ op {}: {} '{}' became '{}'", op.name, a[i].first, a[i].second, b[i].second));
  }
  for (const Op& op : right.ops()) {
    if (mine.contains(op.name))
      order_right.push_back(op.name);
    else
      differences.push_back(format("+ op {}", print_op(right, op)));
  }
  const auto [a, b] = std::ranges::mismatch(order_left, order_right);
  if (a != order_left.end())
    differences.push_back(format("~ order: where one has op {}, the other has op {}", *a, *b));
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

std::vector<std::string> compare_graphs(const Graph& left, const Graph& right) {
  std::vector<std::string> differences;
  compare_ops(left, right, differences);
  compare_tensors(left, right, differences);
  return differences;
}

}  // namespace nadi
