// Attention as a graph of single operations that cuDNN has fused kernels for, forward and backward. cuDNN
// recognises the whole by its parts, so their order and types are as its kernels want them.
//
//   const CudnnAttentionPlan attention = plan_attention(cudnn, handle, problem, workspace_limit);
//   attention.plan.run(handle, {{attention.ids.q, address_of_q}, ...}, workspace);
//
// Letters as in graph/ops/attention.h. To cuDNN a tensor is [B, H, T, D] in any order of memory.
#pragma once

#include <cstdint>

#include "nadi/cuda/cudnn_graph.h"

namespace nadi::inline engines::cuda {

// Elements from one sequence to the next and from one token to the next; heads are D elements apart.
struct TokenStrides {
  std::int64_t sequence = 0;
  std::int64_t token = 0;
  friend bool operator==(const TokenStrides&, const TokenStrides&) = default;
};

// All that a plan depends on.
struct CudnnAttentionProblem {
  std::int64_t B = 0, T = 0, S = 0, H = 0, K = 0, D = 0;
  cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
  float scale = 1;
  bool causal = false;
  bool lengths = false;     // of sequences: how many queries and keys each has
  bool statistics = false;  // forward: written
  bool gradient = false;
  bool deterministic = false;  // of the gradient; the forward pass always is
  TokenStrides q = {}, k = {}, v = {}, y = {};
  TokenStrides dy = {}, dq = {}, dk = {}, dv = {};  // of the gradient
  friend bool operator==(const CudnnAttentionProblem&, const CudnnAttentionProblem&) = default;
};

// A plan, and the numbers of its tensors; 0 means it has none of this name.
struct CudnnAttentionPlan {
  CudnnPlan plan;
  struct Ids {
    std::int64_t q = 0, k = 0, v = 0, y = 0, statistics = 0;
    std::int64_t query_lengths = 0, key_lengths = 0;  // i32 [B]
    std::int64_t dy = 0, dq = 0, dk = 0, dv = 0;
    // Scratch of the gradient: fp32 [B, H, T, 1] and [B, H, T, D].
    std::int64_t y_dot_dy = 0, dq_sums = 0;
  } ids;
};

// Throws CudnnRefusal when cuDNN has no kernel for it, or none that gets by with this workspace.
CudnnAttentionPlan plan_attention(const CudnnLibrary& cudnn, cudnnHandle_t handle,
                                  const CudnnAttentionProblem& problem, std::int64_t workspace_limit);

}  // namespace nadi::inline engines::cuda
