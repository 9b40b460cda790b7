// What an op means: the shapes it makes, what it costs, its gradient. One definition per op kind, each in a
// file of graph/ops/, collected in graph/ops/table.cpp. The table is all that the rest of the program sees;
// nothing else switches over op kinds except the engines' own kernel tables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/graph.h"
#include "nadi/graph/op.h"
#include "nadi/graph/work_kind.h"

namespace nadi::inline describe {

class GradientRule;

// An op together with the graph it is in. While shapes are inferred it has no outputs yet.
struct OpView {
  const Graph& graph;
  const Op& op;

  bool has(std::size_t input) const { return input < op.inputs.size() && op.inputs[input] != kNoTensor; }
  const Tensor& input(std::size_t i) const { return graph.tensor(op.inputs[i]); }
  const Tensor& output(std::size_t i) const { return graph.tensor(op.outputs[i].tensor); }
  const Shape& in(std::size_t i) const { return input(i).shape; }
  const Attributes& attributes() const { return op.attributes; }

  // Refuses the op: Error (input) that names it and the shapes of its inputs.
  [[noreturn]] void refuse(const std::string& why) const;
  // For messages that are plain text; one that has to be put together would cost time for every op.
  void require(bool condition, const char* why) const {
    if (!condition) refuse(why);
  }
};

struct OutputSpec {
  Shape shape;
  DType dtype;
};

// What changes an op's cost from step to step though the graph stays the same.
struct CostContext {
  // How many tokens each sequence already has in its KV cache when the step runs; without it, a cache is
  // taken to be full.
  std::optional<std::int64_t> position;
};

// The work of one op. `matrix` counts 2 per multiply-add of matrix products (attention included), `vector`
// everything else, one per scalar operation (a transcendental counts as one). `read` and `written` are the
// bytes that must move at least: each tensor once. `sent` is what a rank gives to the collective: the size of
// its own input (all-reduce, reduce-scatter, all-gather ...), from which a network model derives the traffic.
struct OpCost {
  Flops matrix;
  Flops vector;
  Bytes read;
  Bytes written;
  Bytes sent;

  Flops flops() const { return matrix + vector; }
  Bytes moved() const { return read + written; }
  OpCost& operator+=(const OpCost& other);
};

// Which of its inputs and outputs the gradient rule of an op reads, as bits. They stay alive until then, or
// are recomputed; a rule that asks for any other is a bug.
struct Saved {
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
};
constexpr std::uint32_t bit(int i) {
  return 1u << i;
}

enum class OpClass : std::uint8_t {
  kCompute,
  kView,        // its outputs are other names for its input's memory
  kCollective,  // all members of its group take part
  kPointToPoint,
};

struct OpDefinition {
  OpKind kind;
  std::string_view name;             // as printed, traced and searched for: "matmul"
  WorkKind work = WorkKind::kOther;  // where its name does not tell (analysis/kind_patterns.h)
  OpClass op_class = OpClass::kCompute;
  std::vector<AttributeSpec> attributes = {};
  // Names of the inputs, those that may be left out with a trailing '?'. A last name with a trailing '*'
  // stands for any number.
  std::vector<std::string_view> inputs = {};

  std::vector<OutputSpec> (*infer)(const OpView&) = nullptr;
  // FLOPs, and bytes where they differ from reading every input and writing every output once.
  void (*cost)(const OpView&, const CostContext&, OpCost&) = nullptr;

  // Left out by ops that only occur in backward passes, optimizers and inference.
  Saved (*saves)(const OpView&) = nullptr;
  void (*gradient)(GradientRule&) = nullptr;

  // The gradient of input 0 is that of output 0, whatever the rounding in between: no rule needed.
  bool straight_through = false;

  // Output 0 may take over the memory of this input when nobody needs the input any more.
  int in_place_input = -1;
};

const OpDefinition& definition(OpKind kind);
inline std::string_view to_string(OpKind kind) {
  return definition(kind).name;
}

inline bool is_communication(OpClass op_class) {
  return op_class == OpClass::kCollective || op_class == OpClass::kPointToPoint;
}

// Whether an op has to meet other ranks. In a group of one, every collective gives back its input.
bool meets_others(const Op& op);

OpCost cost_of(const Graph& graph, const Op& op, const CostContext& context = {});

}  // namespace nadi::inline describe
