#include "nadi/parallel/program_memory.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/graph/value_lifetimes.h"

namespace nadi::inline describe {
namespace {

bool has_phase(const Graph& graph, Phase phase) {
  return std::ranges::any_of(graph.ops(), [phase](const Op& op) { return op.phase == phase; });
}

// The passes of a graph. A pass that is cut where gradients are ready for their reduction is one: its parts
// run one after the other, and the reductions in between use no arena.
std::vector<OpSpan> passes_of(const Program& program, std::size_t g) {
  std::vector<OpSpan> passes;
  const Section* before = nullptr;
  for (const Section& section : program.sections) {
    if (section.graph != g) continue;
    if (before != nullptr && before->name == section.name && before->end_op == section.first_op)
      passes.back().end = section.end_op;
    else
      passes.push_back({section.first_op, section.end_op});
    before = &section;
  }
  return passes;
}

std::vector<RingStay> stays_of(const Program& program, std::size_t g, std::size_t tensor,
                               const std::vector<std::uint32_t>& root) {
  const Graph& graph = program.graphs[g];
  std::vector<char> touches(program.sections.size(), 0);
  for (std::size_t s = 0; s < program.sections.size(); ++s) {
    const Section& section = program.sections[s];
    if (section.graph != g) continue;
    for (std::uint32_t i = section.first_op; i < section.end_op && touches[s] == 0; ++i) {
      const Op& op = graph.ops()[i];
      touches[s] = graph.tensors()[tensor].producer == OpId{i};
      for (const TensorId input : op.inputs)
        if (input != kNoTensor && root[index(input)] == tensor) touches[s] = 1;
    }
  }
  std::vector<RingStay> stays;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (touches[static_cast<std::size_t>(instruction.section)] == 0) continue;
    const auto m = static_cast<std::size_t>(instruction.micro_batch);
    check(m <= stays.size(), "micro-batches are received in order");
    if (m == stays.size()) stays.push_back({.first = i});
    stays[m].last = i;
  }
  return stays;
}

std::vector<ProgramMemory::Ring> rings_of(const Program& program, std::size_t g, std::int64_t alignment) {
  const Graph& graph = program.graphs[g];
  std::vector<ProgramMemory::Ring> rings;
  std::vector<std::uint32_t> root;
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::kReceive) continue;
    if (root.empty()) root = view_roots(graph);
    const TensorId tensor = op.outputs[0].tensor;
    rings.push_back({.tensor = tensor,
                     .places = places_for(stays_of(program, g, index(tensor), root)),
                     .first = {},
                     .stride = aligned_size(graph.tensor(tensor).size(), alignment)});
  }
  return rings;
}

// Where one value of shared rows has its place in the slot, all have.
void keep_together(std::span<const SharedRows> shared_rows, std::vector<char>& in_slot) {
  for (const SharedRows& rows : shared_rows) {
    const bool any = std::ranges::any_of(
        rows.values, [&](const SharedRows::Columns& columns) { return in_slot[index(columns.value)] != 0; });
    for (const SharedRows::Columns& columns : rows.values) in_slot[index(columns.value)] = any;
  }
}

void lay_out_slot(const Graph& graph, const PlacementRules& rules, ProgramMemory::OfGraph& of) {
  if (of.in_slot.empty()) return;
  const auto take = [&](Bytes size) {
    const std::int64_t offset = of.slot.count();
    of.slot += aligned_size(size, rules.alignment);
    return offset;
  };
  std::vector<char> placed(of.in_slot.size(), 0);
  for (const SharedRows& rows : rules.shared_rows) {
    if (of.in_slot[index(rows.values.front().value)] == 0) continue;
    const std::int64_t begin = take(Bytes{rows.size});
    for (const SharedRows::Columns& columns : rows.values) {
      of.offsets[index(columns.value)] = begin + columns.offset;
      placed[index(columns.value)] = 1;
    }
  }
  for (std::size_t t = 0; t < of.in_slot.size(); ++t) {
    if (of.in_slot[t] == 0 || placed[t] != 0) continue;
    const std::int64_t padded = rules.padded_sizes.empty() ? 0 : rules.padded_sizes[t];
    of.offsets[t] = take(padded > 0 ? Bytes{padded} : graph.tensors()[t].size());
  }
}

}  // namespace

std::vector<char> crossing_values(const Graph& graph, std::span<const OpSpan> passes) {
  constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  std::vector<std::uint32_t> pass_of(graph.ops().size(), kNowhere);
  for (std::uint32_t p = 0; p < passes.size(); ++p)
    std::fill(pass_of.begin() + passes[p].first, pass_of.begin() + passes[p].end, p);
  const std::vector<std::uint32_t> root = view_roots(graph);
  std::vector<char> crossing(graph.tensors().size(), 0);
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    for (const TensorId input : graph.ops()[i].inputs) {
      if (input == kNoTensor) continue;
      const std::uint32_t made = root[index(input)];
      const OpId producer = graph.tensors()[made].producer;
      if (producer != kNoOp && pass_of[index(producer)] != pass_of[i]) crossing[made] = 1;
    }
  }
  return crossing;
}

std::int64_t places_for(std::span<const RingStay> stays) {
  std::size_t places = 1;
  for (std::size_t m = 0; m < stays.size(); ++m)
    while (m + places < stays.size() && stays[m + places].first < stays[m].last) ++places;
  return static_cast<std::int64_t>(places);
}

ProgramMemory plan_program_memory(const Program& program, const MemoryOptions& options) {
  ProgramMemory memory;
  std::int64_t slots = 0;
  for (std::size_t g = 0; g < program.graphs.size(); ++g)
    if (has_phase(program.graphs[g], Phase::kForward) && has_phase(program.graphs[g], Phase::kBackward))
      slots += program.slots[g];
  memory.slots = std::max<std::int64_t>(slots, 1);

  Bytes in_slots;  // and in rings
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const Graph& graph = program.graphs[g];
    ProgramMemory::OfGraph& of = memory.graphs.emplace_back();
    const std::span<const SharedRows> shared_rows =
        g < options.shared_rows.size() ? options.shared_rows[g] : std::span<const SharedRows>{};
    if (slots > 1) of.in_slot = crossing_values(graph, passes_of(program, g));
    if (!of.in_slot.empty()) keep_together(shared_rows, of.in_slot);
    of.rings = rings_of(program, g, options.alignment);
    std::vector<char> elsewhere = of.in_slot;
    if (!of.rings.empty()) elsewhere.resize(graph.tensors().size(), 0);
    for (const ProgramMemory::Ring& ring : of.rings) {
      elsewhere[index(ring.tensor)] = 1;
      if (!of.in_slot.empty()) of.in_slot[index(ring.tensor)] = 0;
    }
    if (g < options.without_memory.size() && !options.without_memory[g].empty()) {
      elsewhere.resize(graph.tensors().size(), 0);
      for (std::size_t t = 0; t < elsewhere.size(); ++t) {
        if (options.without_memory[g][t] == 0) continue;
        elsewhere[t] = 1;
        if (!of.in_slot.empty()) of.in_slot[t] = 0;
      }
    }
    PlacementRules rules{.elsewhere = std::move(elsewhere), .alignment = options.alignment};
    if (g < options.padded_sizes.size()) rules.padded_sizes = options.padded_sizes[g];
    rules.shared_rows.assign(shared_rows.begin(), shared_rows.end());
    if (g < options.kernels.size()) rules.kernels = options.kernels[g];
    of.plan = plan_memory(graph, rules);
    of.offsets = of.plan.offsets;
    of.slots = program.slots[g];
    lay_out_slot(graph, rules, of);
    memory.arena = std::max(memory.arena, of.plan.arena);
    memory.live = std::max(memory.live, of.plan.peak);
    in_slots += of.slot * of.slots;
  }
  Bytes next = memory.arena;
  for (ProgramMemory::OfGraph& of : memory.graphs) {
    of.first_slot = next;
    next += of.slot * of.slots;
  }
  for (ProgramMemory::OfGraph& of : memory.graphs)
    for (ProgramMemory::Ring& ring : of.rings) {
      ring.first = next;
      next += ring.stride * ring.places;
      in_slots += ring.stride * ring.places;
    }
  memory.total = next;
  memory.live += in_slots;
  return memory;
}

}  // namespace nadi::inline describe
