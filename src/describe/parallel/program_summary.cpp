#include "nadi/parallel/program_summary.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/graph/kept_values.h"
#include "nadi/graph/ops/grouped_matmul.h"
#include "nadi/parallel/program_memory.h"
#include "nadi/parallel/step_walk.h"

namespace nadi::inline describe {
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

WorkSummary work_of(const Op& op, const OpCost& cost) {
  WorkSummary work;
  work.ops = 1;
  work.cost = cost;
  // A product with batch axes is one of activations with each other: attention that is not fused.
  if (multiplies_weights(op)) {
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
    // Zeroing gradients comes first in time and belongs with the optimizer, last.
    std::vector<SummedOp> optimizer;
    StepWalk walk(program_, {.merge_repeats = true, .dependencies = false});
    for (StepOp at; walk.next(at);) {
      const SummedOp op{at.graph, at.op, at.cost, at.binding, at.times};
      if (at.graph->ops()[at.section->first_op].phase == Phase::kOptimizer)
        optimizer.push_back(op);
      else
        add_op(op);
    }
    for (const SummedOp& op : optimizer) add_op(op);
    add_parameters();
    add_memory();
    summary_.parameters = program_.parameter_count();
    return std::move(summary_);
  }

 private:
  struct SummedOp {
    const Graph* graph;
    const Op* op;
    OpCost cost;
    RankBinding binding;
    std::int64_t times;
  };

  void add_op(const SummedOp& summed) {
    const Op& op = *summed.op;
    const WorkSummary work = repeated(work_of(op, summed.cost), summed.times);
    add(summary_.phases[static_cast<std::size_t>(op.phase)], work);
    add(summary_.op_kinds[op.kind], work);
    if (summed.binding.kind != RankBinding::Kind::kNone) {
      ProgramSummary::Communication& group =
          summary_.communication[std::string(to_string(summed.binding.group))];
      group.ops += summed.times;
      group.sent += work.cost.sent;
    }
    add(row_of(summed.graph->layer(op.layer), op.block).phases[static_cast<std::size_t>(op.phase)], work);
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
    const ProgramMemory planned = plan_program_memory(program_);
    memory.activations = planned.total;
    memory.activations_live = planned.live;
    memory.slots = planned.slots;
    Bytes largest;
    std::map<std::int32_t, Bytes> kept_in_block;
    for (const Graph& graph : program_.graphs)
      for (const KeptValue& value : kept_for_backward(graph)) {
        memory.kept += value.size;
        if (value.block < 0) continue;
        Bytes& in_block = kept_in_block[value.block];
        in_block += value.size;
        memory.kept_per_block = std::max(memory.kept_per_block, in_block);
      }
    for (std::size_t g = 0; g < program_.graphs.size(); ++g) {
      const Graph& graph = program_.graphs[g];
      for (const Tensor& tensor : graph.tensors())
        if (tensor.producer == kNoOp && !tensor.shares_memory && seen.insert(tensor.name).second)
          memory.resident[static_cast<std::size_t>(tensor.role)] += tensor.size();
      // By phase and peak op: as if one micro-batch were under way.
      const MemoryPlan plan = planned.slots > 1 ? plan_memory(graph) : planned.graphs[g].plan;
      for (std::size_t i = 0; i < plan.live.size(); ++i) {
        Bytes& most = memory.live_by_phase[static_cast<std::size_t>(graph.ops()[i].phase)];
        most = std::max(most, plan.live[i]);
      }
      if (plan.arena < largest) continue;
      largest = plan.arena;
      if (plan.peak_op != kNoOp) memory.peak_op = graph.op(plan.peak_op).name;
    }
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

}  // namespace nadi::inline describe
