// One operation of a step graph, as data: what it is, what it reads and writes, and where it came from.
// What an op *means* (shapes, gradient, cost) is in its definition, see op_definition.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/graph/attributes.h"
#include "nadi/graph/tensor.h"

namespace nadi::inline describe {

// The list of ops is op_list.h; each has its definition in a file of graph/ops/ (families share one).
enum class OpKind : std::uint8_t {
#define NADI_OP(kind, name) k##kind,
#include "nadi/graph/op_list.h"
};
inline constexpr int kOpKindCount = 0
#define NADI_OP(kind, name) +1
#include "nadi/graph/op_list.h"
    ;

enum class Phase : std::uint8_t {
  kForward,
  kRecompute,  // forward work that is done again for the backward pass
  kBackward,
  kOptimizer,
};
inline constexpr int kPhaseCount = 4;
std::string_view to_string(Phase phase);  // "forward", "recompute", "backward", "optimizer"

enum class LayerId : std::int32_t {};  // index into Graph::layers()

struct OpOutput {
  TensorId tensor = kNoTensor;
  bool accumulate = false;  // add to what the tensor holds, instead of overwriting; variables only
};

struct Op {
  OpKind kind = OpKind::kFill;
  std::string name;              // unique in its graph
  std::vector<TensorId> inputs;  // kNoTensor where an optional one is absent
  std::vector<OpOutput> outputs;
  Attributes attributes;
  Phase phase = Phase::kForward;
  LayerId layer{};              // the module as the checkpoint names it: "transformer.h.3.attn"
  std::int32_t block = -1;      // number of the transformer block, -1 outside of blocks
  bool core_attention = false;  // what selective recomputation does again
};

}  // namespace nadi::inline describe
