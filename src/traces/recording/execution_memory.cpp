#include "nadi/recording/execution_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "nadi/parallel/program.h"

namespace nadi::inline traces {
namespace {

constexpr std::size_t kNobody = ~std::size_t{0};

enum class ValuePlace : char {
  kElsewhere,  // not a value, or used up within one section
  kArena,      // and used in several sections
  kOutside,    // in a slot or a ring
};

struct Values {
  std::vector<ValuePlace> places;                 // by tensor
  std::vector<std::vector<std::size_t>> touched;  // by section of the program: tensors, each once, in order
};

// Values of one graph; views stand for what they show.
Values values_of(const Program& program, std::size_t g, const ProgramMemory::OfGraph& of) {
  const Graph& graph = program.graphs[g];
  const std::size_t tensors = graph.tensors().size();
  std::vector<std::size_t> root(tensors);
  for (std::size_t t = 0; t < tensors; ++t) root[t] = t;
  for (const Op& op : graph.ops())
    if (definition(op.kind).op_class == OpClass::kView)
      for (const OpOutput& output : op.outputs) root[index(output.tensor)] = root[index(op.inputs[0])];

  Values values{.places = std::vector<ValuePlace>(tensors, ValuePlace::kElsewhere), .touched = {}};
  std::vector<std::size_t> section_of(tensors, kNobody);
  for (std::size_t s = 0; s < program.sections.size(); ++s) {
    const Section& section = program.sections[s];
    std::vector<std::size_t>& touched = values.touched.emplace_back();
    if (section.graph != g) continue;
    const auto touch = [&](TensorId id) {
      const std::size_t t = root[index(id)];
      if (section_of[t] == s) return;
      if (section_of[t] != kNobody && of.offsets[t] != MemoryPlan::kOutsideArena)
        values.places[t] = ValuePlace::kArena;
      section_of[t] = s;
      touched.push_back(t);
    };
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i) {
      for (const TensorId input : graph.ops()[i].inputs)
        if (input != kNoTensor) touch(input);
      for (const OpOutput& output : graph.ops()[i].outputs) touch(output.tensor);
    }
  }
  for (std::size_t t = 0; t < of.in_slot.size(); ++t)
    if (of.in_slot[t] != 0) values.places[t] = ValuePlace::kOutside;
  for (const ProgramMemory::Ring& ring : of.rings) values.places[index(ring.tensor)] = ValuePlace::kOutside;
  return values;
}

// What comes and goes, added up.
class Balance {
 public:
  explicit Balance(std::size_t instructions) : changes_(instructions + 1) {}
  // Alive at the instructions from `first` to before `end`.
  void add(std::size_t first, std::size_t end, Bytes size) {
    changes_[first] += size;
    changes_[end] -= size;
  }
  void add_to(std::vector<Bytes>& sums, auto counts_at) const {
    Bytes now;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      now += changes_[i];
      if (counts_at(i)) sums[i] += now;
    }
  }

 private:
  std::vector<Bytes> changes_;
};

}  // namespace

ExecutionMemory::ExecutionMemory(const Program& program)
    : program_(program), memory_(plan_program_memory(program)), besides_(program.instructions.size()) {
  const auto graph_at = [&](std::size_t i) { return program.section(program.instructions[i].section).graph; };
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const Values values = values_of(program, g, memory_.graphs[g]);
    struct Stay {
      std::size_t first, last;  // instructions
    };
    std::map<std::pair<std::int32_t, std::size_t>, Stay> stays;  // by micro-batch and tensor
    for (std::size_t i = 0; i < program.instructions.size(); ++i)
      for (const std::size_t t : values.touched[static_cast<std::size_t>(program.instructions[i].section)])
        if (values.places[t] != ValuePlace::kElsewhere)
          stays.try_emplace({program.instructions[i].micro_batch, t}, Stay{i, i}).first->second.last = i;

    Balance outside(besides_.size()), waiting(besides_.size());
    for (const auto& [key, stay] : stays) {
      const Bytes size = aligned_size(program.graphs[g].tensors()[key.second].size());
      (values.places[key.second] == ValuePlace::kOutside ? outside : waiting)
          .add(stay.first, stay.last + 1, size);
    }
    outside.add_to(besides_, [](std::size_t) { return true; });
    waiting.add_to(besides_, [&](std::size_t i) { return graph_at(i) != g; });
  }
}

Bytes ExecutionMemory::alive(const ExecutedStep& step, const ExecutedKernel& kernel) const {
  const Section& section = program_.section(program_.instructions[kernel.instruction].section);
  const std::vector<Bytes>& live = memory_.graphs[section.graph].plan.live;
  Bytes most;
  for (std::uint32_t i = 0; i < kernel.ops(); ++i) most = std::max(most, live[index(step.op(kernel, i))]);
  return besides_[kernel.instruction] + most;
}

}  // namespace nadi::inline traces
