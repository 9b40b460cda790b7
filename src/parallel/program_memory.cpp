#include "nadi/parallel/program_memory.h"

#include <algorithm>

#include "nadi/graph/op_definition.h"

namespace nadi {
namespace {

bool has_phase(const Graph& graph, Phase phase) {
  return std::ranges::any_of(graph.ops(), [phase](const Op& op) { return op.phase == phase; });
}

// By tensor: whether a value (not a view) is used in another section than the one that makes it.
std::vector<char> crossing_values(const Program& program, std::size_t g) {
  const Graph& graph = program.graphs[g];
  constexpr std::size_t kNowhere = ~std::size_t{0};
  std::vector<std::size_t> section_of(graph.ops().size(), kNowhere);
  for (std::size_t s = 0; s < program.sections.size(); ++s) {
    const Section& section = program.sections[s];
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

}  // namespace

ProgramMemory plan_program_memory(const Program& program) {
  ProgramMemory memory;
  std::int64_t slots = 0;
  for (std::size_t g = 0; g < program.graphs.size(); ++g)
    if (has_phase(program.graphs[g], Phase::kForward) && has_phase(program.graphs[g], Phase::kBackward))
      slots += program.slots[g];
  memory.slots = std::max<std::int64_t>(slots, 1);

  Bytes in_slots;
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const Graph& graph = program.graphs[g];
    ProgramMemory::OfGraph& of = memory.graphs.emplace_back();
    if (slots > 1) of.in_slot = crossing_values(program, g);
    of.plan = plan_memory(graph, of.in_slot);
    of.offsets = of.plan.offsets;
    of.slots = program.slots[g];
    for (std::size_t t = 0; t < of.in_slot.size(); ++t) {
      if (of.in_slot[t] == 0) continue;
      of.offsets[t] = of.slot.count();
      of.slot += aligned_size(graph.tensors()[t].size());
    }
    memory.arena = std::max(memory.arena, of.plan.arena);
    memory.live = std::max(memory.live, of.plan.peak);
    in_slots += of.slot * of.slots;
  }
  Bytes next = memory.arena;
  for (ProgramMemory::OfGraph& of : memory.graphs) {
    of.first_slot = next;
    next += of.slot * of.slots;
  }
  memory.total = next;
  memory.live += in_slots;
  return memory;
}

}  // namespace nadi
