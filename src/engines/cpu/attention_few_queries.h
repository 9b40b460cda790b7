// Attention of few queries to many keys: a step of decoding. Reading keys and values is most of the time, so
// they are used where they are, row by row, and never transposed.
#pragma once

#include <cstdint>

#include "nadi/cpu/attention_operands.h"
#include "nadi/cpu/softmax_row.h"

namespace nadi::inline engines::cpu {

// Up to this many rows per key-value head; with more, transposing keys pays. Measured by
// bench/attention_bench.
inline constexpr std::int64_t kFewRows = 4;

// Per row of one key-value head: the query times the scale, the sum of values so far, scores of a tile of
// keys. `keys` and `values` are tiles that hold rows which have to be converted first.
struct FewQueries {
  const float* q = nullptr;  // tile_stride(D) apart
  float* y = nullptr;        // the same; zeros in the beginning
  float* scores = nullptr;   // kScoreStride apart
  RunningSoftmax* softmax = nullptr;
  float* factors = nullptr;
  float* keys = nullptr;
  float* values = nullptr;
};

// Leaves y as sums that the caller divides by the softmax's.
void attend_few(const AttentionOperands& in, std::int64_t b, std::int64_t kv_head, const FewQueries& rows);

}  // namespace nadi::inline engines::cpu
