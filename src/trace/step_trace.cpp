#include "nadi/trace/step_trace.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/parallel/program.h"
#include "nadi/trace/common_attributes.h"

namespace nadi {
namespace {

constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();

// Who touched a tensor last, as node ids.
struct Accesses {
  std::uint64_t writer = kNobody;
  std::vector<std::uint64_t> readers;  // since then; of variables only
};

// What is the same each time a graph's op is traced.
struct OpTexts {
  std::string input_values, input_shapes, input_types;
  std::string output_values, output_shapes, output_types;
};

struct Tensors {
  std::string values = "[", shapes = "[", types = "[";

  void add(const Tensor& tensor) {
    const char* comma = values.size() > 1 ? ", " : "";
    values += format("{}[\"{}\", {}]", comma, tensor.name, tensor.size().count());
    shapes += comma + tensor.shape.to_string();
    types += format("{}\"{}\"", comma, to_string(tensor.dtype));
  }
  void close() {
    values += ']';
    shapes += ']';
    types += ']';
  }
};

}  // namespace

class StepTracer::State {
 public:
  explicit State(const Program& program) : program_(program) {
    for (const Graph& graph : program.graphs) prepare(graph);
    if (!program.instructions.empty()) enter();
  }

  bool next(TraceNode& node) {
    for (; instruction_ < program_.instructions.size(); leave()) {
      const Section& section = program_.section(program_.instructions[instruction_].section);
      const Graph& graph = program_.graph_of(section);
      while (op_ < section.end_op) {
        const Op& op = graph.ops()[op_++];
        if (definition(op.kind).op_class == OpClass::kView) continue;
        fill(node, section, op);
        return true;
      }
    }
    return false;
  }

 private:
  struct GraphState {
    std::vector<std::uint32_t> root;      // by tensor: itself, or what it is a view of
    std::vector<std::uint32_t> variable;  // by tensor: number among the program's variables, or kValue
    std::vector<OpTexts> texts;           // by op; made when first needed
    std::vector<std::uint64_t> writer;    // by tensor: of values
  };
  static constexpr std::uint32_t kValue = 0xffffffff;

  void prepare(const Graph& graph) {
    GraphState state;
    const std::size_t tensors = graph.tensors().size();
    state.root.resize(tensors);
    state.variable.assign(tensors, kValue);
    state.writer.assign(tensors, kNobody);
    state.texts.resize(graph.ops().size());
    for (std::uint32_t t = 0; t < tensors; ++t) {
      state.root[t] = t;
      const Tensor& tensor = graph.tensors()[t];
      if (!tensor.variable) continue;
      const auto [entry, fresh] =
          variable_numbers_.emplace(tensor.name, static_cast<std::uint32_t>(variables_.size()));
      if (fresh) variables_.emplace_back();
      state.variable[t] = entry->second;
    }
    for (const Op& op : graph.ops())
      if (definition(op.kind).op_class == OpClass::kView)
        for (const OpOutput& output : op.outputs)
          state.root[index(output.tensor)] = state.root[index(op.inputs[0])];
    graphs_.push_back(std::move(state));
  }

  void enter() { op_ = program_.section(program_.instructions[instruction_].section).first_op; }
  void leave() {
    if (++instruction_ < program_.instructions.size()) enter();
  }

  void fill(TraceNode& node, const Section& section, const Op& op) {
    const Graph& graph = program_.graph_of(section);
    GraphState& state = graphs_[section.graph];
    const Instruction& instruction = program_.instructions[instruction_];
    const OpClass op_class = definition(op.kind).op_class;
    check(!is_communication(op_class), "a program of one rank has no communication");

    node.clear();
    node.id = TraceNodeId{next_id_};
    node.name = op.name;
    node.type = NodeType::kComp;
    add_dependencies(node, state, op);
    const OpTexts& texts = texts_of(graph, state, op);
    node.inputs = {texts.input_values, texts.input_shapes, texts.input_types};
    node.outputs = {texts.output_values, texts.output_shapes, texts.output_types};

    const OpCost cost = cost_of(graph, op, instruction.context);
    add_is_cpu_op(node, false);
    add_num_ops(node, cost.flops());
    add_tensor_size(node, cost.moved());
    TraceAttributes& attributes = node.attributes;
    add_borrowed(attributes, "op", to_string(op.kind));
    add_borrowed(attributes, "layer", graph.layer(op.layer));
    add_borrowed(attributes, "phase", to_string(op.phase));
    add_borrowed(attributes, "section", section.name);
    attributes.add_int64("micro_batch", instruction.micro_batch);
    if (op.block >= 0) attributes.add_int64("block", op.block);
    ++next_id_;
  }

  // A text that lives as long as the program.
  static void add_borrowed(TraceAttributes& attributes, std::string_view name, std::string_view text) {
    TraceAttribute attribute;
    attribute.name = name;
    attribute.kind = TraceAttributeKind::kString;
    attribute.text = text;
    attributes.add_borrowed(attribute);
  }

  // Values are written once per micro-batch before they are read, so that the last writer is the right one
  // even though micro-batches share the numbers of their tensors.
  void add_dependencies(TraceNode& node, GraphState& state, const Op& op) {
    const auto add = [](std::vector<TraceNodeId>& list, std::uint64_t id) {
      if (id != kNobody) list.push_back(TraceNodeId{id});
    };
    for (const TensorId input : op.inputs) {
      if (input == kNoTensor) continue;
      const std::uint32_t root = state.root[index(input)];
      if (state.variable[root] == kValue) {
        add(node.data_deps, state.writer[root]);
      } else {
        Accesses& accesses = variables_[state.variable[root]];
        add(node.data_deps, accesses.writer);
        accesses.readers.push_back(next_id_);
      }
    }
    for (const OpOutput& output : op.outputs) {
      const std::size_t tensor = index(output.tensor);
      if (state.variable[tensor] == kValue) {
        state.writer[tensor] = next_id_;
        continue;
      }
      Accesses& accesses = variables_[state.variable[tensor]];
      // What is added to must be there: that is data, not only order.
      add(output.accumulate ? node.data_deps : node.ctrl_deps, accesses.writer);
      for (const std::uint64_t reader : accesses.readers)
        if (reader != next_id_) add(node.ctrl_deps, reader);
      accesses.writer = next_id_;
      accesses.readers.clear();
    }
    const auto tidy = [](std::vector<TraceNodeId>& list) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    tidy(node.data_deps);
    tidy(node.ctrl_deps);
    std::erase_if(node.ctrl_deps,
                  [&](TraceNodeId id) { return std::ranges::binary_search(node.data_deps, id); });
  }

  static const OpTexts& texts_of(const Graph& graph, GraphState& state, const Op& op) {
    OpTexts& texts = state.texts[static_cast<std::size_t>(&op - graph.ops().data())];
    if (!texts.output_values.empty()) return texts;
    Tensors inputs, outputs;
    for (const TensorId input : op.inputs)
      if (input != kNoTensor) inputs.add(graph.tensor(input));
    for (const OpOutput& output : op.outputs) outputs.add(graph.tensor(output.tensor));
    inputs.close();
    outputs.close();
    texts = {.input_values = std::move(inputs.values),
             .input_shapes = std::move(inputs.shapes),
             .input_types = std::move(inputs.types),
             .output_values = std::move(outputs.values),
             .output_shapes = std::move(outputs.shapes),
             .output_types = std::move(outputs.types)};
    return texts;
  }

  const Program& program_;
  std::vector<GraphState> graphs_;
  std::unordered_map<std::string_view, std::uint32_t> variable_numbers_;
  std::vector<Accesses> variables_;
  std::size_t instruction_ = 0;
  std::uint32_t op_ = 0;
  std::uint64_t next_id_ = 0;
};

StepTracer::StepTracer(const Program& program) : state_(std::make_unique<State>(program)) {}
StepTracer::~StepTracer() = default;

bool StepTracer::next(TraceNode& node) {
  return state_->next(node);
}

Trace trace_step(const Program& program) {
  Trace trace;
  StepTracer tracer(program);
  TraceNode node;
  while (tracer.next(node)) trace.add(node);
  return trace;
}

}  // namespace nadi
