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

// The list of ops; each has one file in graph/ops/ with its definition (families share one).
enum class OpKind : std::uint8_t {
  // matrix products and attention
  kMatmul,
  kAttention,
  kAttentionGrad,
  kSoftmax,
  kSoftmaxGrad,
  kRepeatHeads,
  kSumHeadGroups,
  // norms, activations, element-wise
  kLayerNorm,
  kLayerNormGrad,
  kRmsNorm,
  kRmsNormGrad,
  kGelu,
  kGeluGrad,
  kSwiglu,
  kSwigluGrad,
  kRotary,
  kAdd,
  kDropout,
  kSumRows,
  kCopy,
  kCast,
  kQuantizeFp8,
  kConcat,
  kFill,
  // lookups and loss
  kEmbedding,
  kEmbeddingGrad,
  kCrossEntropy,
  kCrossEntropyGrad,
  kArgmax,
  kSample,
  kSelectRows,
  kCacheWrite,
  kAdvance,
  kTakeTokens,
  kVocabMax,
  kVocabSums,
  kShardedCrossEntropy,
  // views: cost nothing and move nothing
  kReshape,
  kPermute,
  kSplit,
  kCopyToGroup,
  // optimizer
  kAdamW,
  kSgd,
  kSgdSai,
  kSquaredNorm,
  kGradScale,
  kUpdateLossScale,
  kNextUpdate,
  // communication
  kAllReduce,
  kAllReduceGrad,
  kReduce,
  kAllGather,
  kReduceScatter,
  kBucketReduceScatter,
  kBucketAllGather,
  kBroadcast,
  kAllToAll,
  kSend,
  kReceive,
};
inline constexpr int kOpKindCount = static_cast<int>(OpKind::kReceive) + 1;

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
