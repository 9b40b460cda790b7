#include "nadi/parallel/program_summary.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "nadi/base/error.h"

namespace nadi {
namespace {

void add(WorkSummary& sum, const WorkSummary& part) {
  sum.ops += part.ops;
  sum.linear += part.linear;
  sum.head += part.head;
  sum.attention += part.attention;
  sum.cost += part.cost;
}

WorkSummary repeated(WorkSummary work, std::int64_t times) {
  work.ops *= times;
  work.linear *= times;
  work.head *= times;
  work.attention *= times;
  work.cost.matrix *= times;
  work.cost.vector *= times;
  work.cost.read *= times;
  work.cost.written *= times;
  work.cost.sent *= times;
  return work;
}

WorkSummary work_of(const Graph& graph, const Op& op, const CostContext& context) {
  WorkSummary work;
  work.ops = 1;
  work.cost = cost_of(graph, op, context);
  // A product with batch axes is one of activations with each other: attention that is not fused.
  const bool linear = op.kind == OpKind::kMatmul && op.attributes.integer("batch_axes") == 0;
  if (linear) {
    work.linear = work.cost.matrix;
    if (op.block < 0) work.head = work.cost.matrix;
  } else {
    work.attention = work.cost.matrix;
  }
  return work;
}

// Ops of one block are one row, named by what their layers have in common: "transformer.h.3".
std::string block_prefix(const std::string& layer, std::int32_t block) {
  const std::string number = "." + std::to_string(block);
  for (std::size_t at = layer.find(number); at != std::string::npos; at = layer.find(number, at + 1)) {
    const std::size_t end = at + number.size();
    if (end == layer.size() || layer[end] == '.') return layer.substr(0, end);
  }
  return layer;
}

class Summarizer {
 public:
  explicit Summarizer(const Program& program) : program_(program) {}

  ProgramSummary run() {
    // Micro-batches repeat their sections: what costs the same is counted once, times how often it runs.
    std::map<std::pair<SectionId, std::int64_t>, std::int64_t> runs;
    constexpr std::int64_t kAnyPosition = -1;
    for (const Instruction& instruction : program_.instructions)
      ++runs[{instruction.section, instruction.context.position.value_or(kAnyPosition)}];
    // Zeroing gradients comes first in time and belongs with the optimizer, last.
    for (const bool optimizer : {false, true})
      for (const Instruction& instruction : program_.instructions) {
        if (is_optimizer(instruction) != optimizer) continue;
        const auto run =
            runs.find({instruction.section, instruction.context.position.value_or(kAnyPosition)});
        if (run == runs.end()) continue;
        add_instruction(instruction, run->second);
        runs.erase(run);
      }
    add_parameters();
    add_memory();
    summary_.parameters = program_.parameter_count();
    return std::move(summary_);
  }

 private:
  bool is_optimizer(const Instruction& instruction) const {
    const Section& section = program_.section(instruction.section);
    return program_.graph_of(section).ops()[section.first_op].phase == Phase::kOptimizer;
  }

  void add_instruction(const Instruction& instruction, std::int64_t times) {
    const Section& section = program_.section(instruction.section);
    const Graph& graph = program_.graph_of(section);
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i) {
      const Op& op = graph.ops()[i];
      if (definition(op.kind).op_class == OpClass::kView) continue;
      const WorkSummary work = repeated(work_of(graph, op, instruction.context), times);
      add(summary_.phases[static_cast<std::size_t>(op.phase)], work);
      add(summary_.op_kinds[op.kind], work);
      if (is_communication(definition(op.kind).op_class)) {
        ProgramSummary::Communication& group = summary_.communication[op.attributes.text("group")];
        group.ops += times;
        group.sent += work.cost.sent;
      }
      add(row_of(graph.layer(op.layer), op.block).phases[static_cast<std::size_t>(op.phase)], work);
    }
  }

  // Optimizer ops carry the layer of their parameter but no block: the prefix of a block's row finds it.
  LayerSummary& row_of(const std::string& layer, std::int32_t block) {
    const auto known = row_by_layer_.find(layer);
    if (known != row_by_layer_.end()) return summary_.layers[known->second];
    std::string name = block >= 0 ? block_prefix(layer, block) : layer;
    std::size_t row = summary_.layers.size();
    if (block < 0)
      for (std::size_t i = 0; i < summary_.layers.size(); ++i)
        if (summary_.layers[i].block >= 0 && layer.starts_with(summary_.layers[i].name + ".")) row = i;
    if (row == summary_.layers.size()) {
      const auto [entry, fresh] = row_by_name_.emplace(name, row);
      if (fresh)
        summary_.layers.push_back({.name = std::move(name), .block = block});
      else
        row = entry->second;
    }
    row_by_layer_.emplace(layer, row);
    return summary_.layers[row];
  }

  void add_parameters() {
    std::unordered_set<std::string_view> seen;
    for (const Graph& graph : program_.graphs)
      for (const Tensor& tensor : graph.tensors()) {
        if (tensor.role != Role::kParameter || !seen.insert(tensor.name).second) continue;
        const std::string layer = tensor.name.substr(0, tensor.name.rfind('.'));
        row_of(layer, -1).parameters += tensor.shape.elements();
      }
  }

  void add_memory() {
    MemorySummary& memory = summary_.memory;
    std::unordered_set<std::string_view> seen;
    std::int64_t slots = 0;
    for (std::size_t g = 0; g < program_.graphs.size(); ++g) {
      const Graph& graph = program_.graphs[g];
      for (const Tensor& tensor : graph.tensors())
        if (tensor.producer == kNoOp && !tensor.shares_memory && seen.insert(tensor.name).second)
          memory.resident[static_cast<std::size_t>(tensor.role)] += tensor.size();
      const MemoryPlan plan = plan_memory(graph);
      for (std::size_t i = 0; i < plan.live.size(); ++i) {
        Bytes& most = memory.live_by_phase[static_cast<std::size_t>(graph.ops()[i].phase)];
        most = std::max(most, plan.live[i]);
      }
      if (plan.arena >= memory.activations) {
        memory.activations = plan.arena;
        memory.activations_live = plan.peak;
        if (plan.peak_op != kNoOp) memory.peak_op = graph.op(plan.peak_op).name;
      }
      if (has_backward(graph)) slots += program_.slots[g];
    }
    memory.slots = std::max<std::int64_t>(slots, 1);
    if (slots > 1) add_slots();
  }

  static bool has_backward(const Graph& graph) {
    return std::ranges::any_of(graph.ops(), [](const Op& op) { return op.phase == Phase::kBackward; }) &&
           std::ranges::any_of(graph.ops(), [](const Op& op) { return op.phase == Phase::kForward; });
  }

  // Several micro-batches at once: what crosses from one section to another stays in the micro-batch's slot;
  // the rest shares one arena, in which only one section runs at a time.
  void add_slots() {
    MemorySummary& memory = summary_.memory;
    memory.activations = Bytes{};
    Bytes local, local_live;
    for (std::size_t g = 0; g < program_.graphs.size(); ++g) {
      const Graph& graph = program_.graphs[g];
      const std::vector<char> crossing = crossing_values(g);
      const MemoryPlan plan = plan_memory(graph, crossing);
      local = std::max(local, plan.arena);
      local_live = std::max(local_live, plan.peak);
      Bytes slot;
      for (std::size_t t = 0; t < crossing.size(); ++t)
        if (crossing[t] != 0) slot += aligned_size(graph.tensors()[t].size());
      memory.activations += slot * program_.slots[g];
    }
    memory.activations_live = memory.activations + local_live;
    memory.activations += local;
  }

  // By tensor: whether a value (not a view) is used in another section than the one that makes it.
  std::vector<char> crossing_values(std::size_t g) const {
    const Graph& graph = program_.graphs[g];
    constexpr std::size_t kNowhere = ~std::size_t{0};
    std::vector<std::size_t> section_of(graph.ops().size(), kNowhere);
    for (std::size_t s = 0; s < program_.sections.size(); ++s) {
      const Section& section = program_.sections[s];
      if (section.graph != g) continue;
      for (std::uint32_t i = section.first_op; i < section.end_op; ++i) section_of[i] = s;
    }
    std::vector<std::size_t> root(graph.tensors().size());
    for (std::size_t t = 0; t < root.size(); ++t) root[t] = t;
    std::vector<char> crossing(graph.tensors().size(), 0);
    for (std::size_t i = 0; i < graph.ops().size(); ++i) {
      const Op& op = graph.ops()[i];
      if (definition(op.kind).op_class == OpClass::kView)
        for (const OpOutput& output : op.outputs) root[index(output.tensor)] = root[index(op.inputs[0])];
      for (const TensorId input : op.inputs) {
        if (input == kNoTensor) continue;
        const std::size_t made = root[index(input)];
        const OpId producer = graph.tensors()[made].producer;
        if (producer != kNoOp && section_of[index(producer)] != section_of[i]) crossing[made] = 1;
      }
    }
    return crossing;
  }

  const Program& program_;
  ProgramSummary summary_;
  std::unordered_map<std::string, std::size_t> row_by_layer_;
  std::unordered_map<std::string, std::size_t> row_by_name_;
};

}  // namespace

WorkSummary LayerSummary::total() const {
  WorkSummary sum;
  for (const WorkSummary& phase : phases) add(sum, phase);
  return sum;
}

WorkSummary ProgramSummary::total() const {
  WorkSummary sum;
  for (const WorkSummary& phase : phases) add(sum, phase);
  return sum;
}

Bytes MemorySummary::total() const {
  Bytes sum = activations;
  for (const Bytes size : resident) sum += size;
  return sum;
}

ProgramSummary summarize(const Program& program) {
  return Summarizer(program).run();
}

}  // namespace nadi
