// Which ops of a graph the CUDA engine computes in one kernel: a pass over the graph before its memory is
// planned. The rules are one table (fusing.cpp). Ops are fused only where they follow each other in the
// graph, views between them left out, within one section. What was fused is visible: a recorded kernel names
// all its ops.
//
// A value that only ops of one kernel hand to each other has no memory (kernel_plan.h). A kernel may read its
// inputs until it ends and write its outputs from its begin on, whatever the order of its ops: the memory
// plan keeps them apart. The exception are outputs that take over the bytes of an input
// (OpDefinition::in_place_input): a fused kernel reads an element before it writes the one in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "nadi/cuda/device_traits.h"
#include "nadi/parallel/program.h"

namespace nadi::inline engines::cuda {

enum class FusedKind : std::uint8_t {
  kNone,          // a single op
  kUpdates,       // adamw, sgd or fill of variables that lie one after the other
  kResidualNorm,  // [dropout] add (layer_norm | rms_norm)
  kNormGradSum,   // (layer_norm_grad | rms_norm_grad) [add] [dropout] [sum_rows]: two of them at least
  kGeluGradSums,  // gelu_grad sum_rows
  kLossGradSums,  // cross_entropy_grad sum_rows
  // In two places (loss_with_gradient.h):
  kLossWithGradient,  // cross_entropy, which computes those of the other, too
  kGradientOfLoss,    // cross_entropy_grad [sum_rows]
  kMatmulAdd,         // matmul add: the product is added to the other summand
  kEmbeddingsSum,     // embedding embedding add [embedding add]
  // Products that share a factor (joined_runs.h):
  kJoinedResults,    // matmul [rotary] matmul [rotary] ...
  kJoinedGradients,  // the same of [rotary] [sum_rows] [matmul [add]] [matmul] for each
  // For few rows (decoding):
  kNormProducts,   // (rms_norm | layer_norm) and the products of its result that follow, with rotary of them,
                   // and cache_write of these
  kGatedProducts,  // [rms_norm] matmul matmul swiglu
  kProductAdd,     // matmul add
};
std::string_view to_string(FusedKind kind);

struct FusedOps {
  std::uint32_t first = 0;  // of the graph
  std::uint32_t end = 0;
  FusedKind kind = FusedKind::kNone;
  // Ops further on that it computes, too; none where these are equal.
  std::uint32_t ahead_first = 0;
  std::uint32_t ahead_end = 0;
};

// In order, of the ops of graph number `graph` of the program. Ops that are in none are kernels of their own.
std::vector<FusedOps> fused_ops(const Program& program, std::size_t graph, const DeviceTraits& traits);

// Bytes of workspace that a fused kernel may use: as much as its ops together, of products as one of them.
std::int64_t fused_workspace(const Graph& graph, const FusedOps& ops, const DeviceTraits& traits);

}  // namespace nadi::inline engines::cuda
