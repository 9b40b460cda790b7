// Ops that pick and place: writing keys and values into a cache, picking each sequence's last row or the
// tokens of a rank, choosing the next token. None has a gradient.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi {

// Writes rows [B, T, W] into a cache variable [B, L, W], for sequence b from row positions[b] on (row 0
// without positions).
struct CacheWriteArgs {
  TensorId cache = kNoTensor;
  TensorId rows = kNoTensor;
  TensorId positions = kNoTensor;  // i32 [B]
};
void cache_write(GraphBuilder& builder, const CacheWriteArgs& args);

// [B, T, W] to [B, 1, W]: row lengths[b] - 1 of each sequence.
TensorId select_last_rows(GraphBuilder& builder, TensorId x, TensorId lengths);

// ids [B, T] to [B, n]: those at the given indices (i32 [n]) of each sequence.
TensorId take_tokens(GraphBuilder& builder, TensorId ids, TensorId indices);

// Index of the largest of the first `vocabulary` columns of each row, as i32, written to a variable.
struct ArgmaxArgs {
  TensorId logits = kNoTensor;  // [..., V]
  std::int64_t vocabulary = 0;  // 0: all columns
  TensorId into = kNoTensor;    // i32 [...]
};
void argmax(GraphBuilder& builder, const ArgmaxArgs& args);

}  // namespace nadi
