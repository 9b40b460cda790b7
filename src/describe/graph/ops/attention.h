// Scaled dot-product attention, fused: scores never leave the kernel. Causal or not, with grouped queries.
//
// Letters: B sequences, T queries and S keys per sequence, H heads, K key-value heads (H a multiple of K),
// D width of a head. Queries are [B, T, H*D], keys and values [B, S, K*D], the result [B, T, H*D]; or all
// three come packed in one tensor [B, T, (H + 2K)*D], queries first, then keys, then values.
//
// Query i of sequence b stands at positions[b] + i (at i without `positions`). With `causal` it sees the keys
// up to its own position; with `lengths` no sequence sees keys from lengths[b] on. Dropout acts on the
// softmax's result, numbered by the element of [B, H, T, S].
// Where this rank has only some of the tokens, `query_positions` and `key_positions` say which ones the rows
// of q and of k are; where it has only some of the heads, `head_ids` says which, for numbering dropout.
//
// fused_attention() is one op that keeps one fp32 number per query for its gradient. unfused_attention()
// computes the same with matmul, softmax and dropout, which keep [B, H, T, S]: what selective recomputation
// is about, and what older runs did.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

struct AttentionArgs {
  TensorId q = kNoTensor;  // or packed queries, keys and values, when k and v are absent
  TensorId k = kNoTensor;
  TensorId v = kNoTensor;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  bool causal = false;
  double scale = 0;                // of the scores; 0 means 1 / sqrt(D)
  TensorId positions = kNoTensor;  // i32 [B]
  TensorId lengths = kNoTensor;    // i32 [B]
  double dropout = 0;
  TensorId random = kNoTensor;           // see dropout.h; needed when dropout > 0
  bool training = true;                  // also write what the gradient needs
  TensorId query_positions = kNoTensor;  // i32 [T]
  TensorId key_positions = kNoTensor;    // i32 [S]
  TensorId head_ids = kNoTensor;         // i32 [H]
  std::int64_t whole_heads = 0;          // of which head_ids are some
  // With query_positions: how many (query, key) pairs of a sequence this rank computes; the positions decide.
  std::int64_t causal_pairs = 0;
};

TensorId fused_attention(GraphBuilder& builder, const AttentionArgs& args);

// Takes q, k and v (not packed), no positions of any kind.
TensorId unfused_attention(GraphBuilder& builder, const AttentionArgs& args);

// Inputs of attention ops by position, for kernels; the last three are the gradient's own.
namespace attention_input {
enum : int {
  kQ,
  kK,
  kV,
  kPositions,
  kLengths,
  kRandom,
  kQueryPositions,
  kKeyPositions,
  kHeadIds,
  kY,
  kStatistics,
  kDy
};
}  // namespace attention_input

// Extents of an attention op, for kernels and cost models.
struct AttentionExtents {
  std::int64_t B, T, S, H, K, D;
};
struct OpView;
AttentionExtents attention_extents(const OpView& op);

}  // namespace nadi::inline describe
