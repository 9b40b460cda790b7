#include "nadi/graph/builder.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {
namespace {

// Whether the number of inputs fits the definition, and those that must be there are.
void check_inputs(const OpView& view, const OpDefinition& def) {
  const bool any_number = !def.inputs.empty() && def.inputs.back().ends_with('*');
  const std::size_t given = view.op.inputs.size();
  if (!(any_number ? given + 1 >= def.inputs.size() : given <= def.inputs.size()))
    view.refuse(format("takes {} inputs, got {}", def.inputs.size(), given));
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    const std::string_view name = def.inputs[i];
    if (name.ends_with('?') || name.ends_with('*')) continue;
    if (!(view.has(i))) view.refuse(format("input '{}' is missing", name));
  }
}

}  // namespace

GraphBuilder::GraphBuilder(Graph graph) : graph_(std::move(graph)) {
  for (std::size_t i = 0; i < graph_.layers_.size(); ++i)
    layer_ids_.emplace(graph_.layers_[i], LayerId{static_cast<std::int32_t>(i)});
  for (const Op& op : graph_.ops_) ++uses_of_name_[op.name];
}

void GraphBuilder::reserve(std::size_t ops) {
  constexpr std::size_t kTensorsPerOp = 2;
  graph_.ops_.reserve(ops);
  graph_.tensors_.reserve(ops * kTensorsPerOp);
  graph_.tensor_by_name_.reserve(ops * kTensorsPerOp);
  uses_of_name_.reserve(ops);
}

TensorId GraphBuilder::input(std::string name, Shape shape, DType dtype) {
  return add_tensor({.name = std::move(name), .shape = shape, .dtype = dtype, .role = Role::kInput});
}

TensorId GraphBuilder::constant(std::string name, Shape shape, DType dtype, Initializer value,
                                std::vector<Shard> shards) {
  return add_tensor({.name = std::move(name),
                     .shape = shape,
                     .dtype = dtype,
                     .role = Role::kConstant,
                     .initializer = value,
                     .shards = std::move(shards)});
}

TensorId GraphBuilder::parameter(std::string name, Shape shape, DType dtype, Initializer initializer,
                                 std::vector<Shard> shards) {
  return variable({.name = std::move(name),
                   .shape = shape,
                   .dtype = dtype,
                   .role = Role::kParameter,
                   .initializer = initializer,
                   .shards = std::move(shards)});
}

TensorId GraphBuilder::variable(Tensor tensor) {
  tensor.variable = true;
  return add_tensor(std::move(tensor));
}

TensorId GraphBuilder::add_tensor(Tensor tensor) {
  const TensorId id{static_cast<std::uint32_t>(graph_.tensors_.size())};
  const bool named = names_ || tensor.producer == kNoOp;
  const bool fresh = !named || graph_.tensor_by_name_.emplace(tensor.name, id).second;
  if (!fresh) throw input_error({}, format("the graph already has a tensor named '{}'", tensor.name));
  graph_.tensors_.push_back(std::move(tensor));
  return id;
}

std::string GraphBuilder::unique_name(const std::string& wanted) {
  const int uses = ++uses_of_name_[wanted];
  return uses == 1 ? wanted : unique_name(format("{}_{}", wanted, uses));
}

LayerId GraphBuilder::layer_id() {
  if (origin_.layer_id != kNotLooked) return origin_.layer_id;
  const auto [entry, fresh] =
      layer_ids_.emplace(origin_.layer, LayerId{static_cast<std::int32_t>(graph_.layers_.size())});
  if (fresh) graph_.layers_.push_back(origin_.layer);
  return origin_.layer_id = entry->second;
}

std::vector<TensorId> GraphBuilder::add(NewOp request) {
  const OpDefinition& def = definition(request.kind);
  Op op;
  op.kind = request.kind;
  op.inputs = std::move(request.inputs);
  op.phase = origin_.phase;
  op.block = origin_.block;
  op.core_attention = origin_.core_attention;
  op.layer = layer_id();
  if (names_) {
    const std::string label = request.label.empty() ? std::string(def.name) : request.label;
    op.name = unique_name(origin_.layer.empty() ? label : origin_.layer + "." + label);
  }
  op.attributes = std::move(request.attributes).completed(def.attributes, op.name);

  const OpView view{graph_, op};
  check_inputs(view, def);
  const std::vector<OutputSpec> specs = def.infer(view);
  view.require(request.into.size() <= specs.size(), "is asked to write more outputs than it has");

  const OpId id{static_cast<std::uint32_t>(graph_.ops_.size())};
  std::vector<TensorId> outputs;
  outputs.reserve(specs.size());
  op.outputs.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    OpOutput target = i < request.into.size() ? request.into[i] : OpOutput{};
    if (target.tensor == kNoTensor) {
      std::string name = i == 0 || !names_ ? op.name : format("{}:{}", op.name, i);
      target = {add_tensor({.name = std::move(name),
                            .shape = specs[i].shape,
                            .dtype = specs[i].dtype,
                            .role = Role::kActivation,
                            .producer = id})};
    } else {
      const Tensor& tensor = graph_.tensor(target.tensor);
      check(tensor.variable, "only variables can be written more than once");
      if (!(tensor.shape == specs[i].shape))
        view.refuse(format("output {} has shape {} but '{}' has {}", i, specs[i].shape.to_string(),
                           tensor.name, tensor.shape.to_string()));
    }
    op.outputs.push_back(target);
    outputs.push_back(target.tensor);
  }
  graph_.ops_.push_back(std::move(op));
  return outputs;
}

GraphBuilder::Scope GraphBuilder::in_layer(std::string_view name) {
  Origin next = origin_;
  if (!next.layer.empty()) next.layer += '.';
  next.layer += name;
  next.layer_id = kNotLooked;
  return {*this, std::move(next)};
}

GraphBuilder::Scope GraphBuilder::in_block(std::int32_t block) {
  Origin next = origin_;
  next.block = block;
  return {*this, std::move(next)};
}

GraphBuilder::Scope GraphBuilder::in_core_attention() {
  Origin next = origin_;
  next.core_attention = true;
  return {*this, std::move(next)};
}

GraphBuilder::Scope GraphBuilder::in_phase(Phase phase) {
  Origin next = origin_;
  next.phase = phase;
  return {*this, std::move(next)};
}

GraphBuilder::Scope GraphBuilder::in_origin_of(const Op& op, Phase phase) {
  // Without names, the number of the layer says it.
  return {*this,
          {names_ ? graph_.layer(op.layer) : std::string(), op.layer, phase, op.block, op.core_attention}};
}

void GraphBuilder::move_behind(std::uint32_t first, const std::function<bool(const Op&)>& late) {
  std::vector<Op>& ops = graph_.ops_;
  const auto begin = ops.begin() + first;
  const auto behind = std::stable_partition(begin, ops.end(), [&](const Op& op) { return !late(op); });
  std::vector<char> made_late(graph_.tensors_.size(), 0);
  for (auto op = behind; op != ops.end(); ++op)
    for (const OpOutput& output : op->outputs) made_late[index(output.tensor)] = 1;
  for (auto op = begin; op != behind; ++op) {
    for (const TensorId input : op->inputs)
      check(input == kNoTensor || made_late[index(input)] == 0, "an op was moved behind one that reads it");
    for (const OpOutput& output : op->outputs)
      check(made_late[index(output.tensor)] == 0, "an op was moved behind one that writes the same");
  }
  for (std::uint32_t i = first; i < ops.size(); ++i)
    for (const OpOutput& output : ops[i].outputs) {
      Tensor& tensor = graph_.tensors_[index(output.tensor)];
      if (tensor.producer != kNoOp) tensor.producer = OpId{i};
    }
}

}  // namespace nadi::inline describe
