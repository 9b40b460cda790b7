// Ops that pick and place: writing keys and values into a cache, picking each sequence's last row or the
// tokens of a rank, choosing the next token, moving on to its position. None has a gradient.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

struct OpView;

// Writes rows [B, T, W] into a cache variable [B, L, W], for sequence b from row positions[b] on (row 0
// without positions).
struct CacheWriteArgs {
  TensorId cache = kNoTensor;
  TensorId rows = kNoTensor;
  TensorId positions = kNoTensor;  // i32 [B]
};
void cache_write(GraphBuilder& builder, const CacheWriteArgs& args);

// Adds `by` to every element of a counter, a variable of integers, in place.
void advance(GraphBuilder& builder, TensorId counter, std::int64_t by);

// [B, T, W] to [B, 1, W]: row lengths[b] - 1 of each sequence.
TensorId select_last_rows(GraphBuilder& builder, TensorId x, TensorId lengths);

// ids [B, T] to [B, n]: those at the given indices (i32 [n]) of each sequence.
TensorId take_tokens(GraphBuilder& builder, TensorId ids, TensorId indices);

// Index of the largest of the first `vocabulary` columns of each row, as i32, written to a variable.
struct ArgmaxArgs {
  TensorId logits = kNoTensor;  // [..., V]
  std::int64_t vocabulary = 0;  // 0 means all columns
  TensorId into = kNoTensor;    // i32 [...]
};
void argmax(GraphBuilder& builder, const ArgmaxArgs& args);

// Draws one of the first `vocabulary` columns of each row, as i32, written to a variable. Tokens are taken in
// the order of decreasing logits, of equal ones the lower index first. Then, with {temperature, top_k, top_p}
// from the input `sampling`:
//
//   1. keep the first top_k tokens (all, when it is 0)
//   2. w = e^((logit - largest logit) / temperature)
//   3. keep the first tokens up to the one at which the sum of their w reaches top_p of the sum of all that
//      are left (1: all); that is one token at least
//   4. choose the first token at which the sum of w exceeds u times the sum of those kept
//
// Temperature 0 takes the likeliest token, as argmax does, and so does a row whose largest logit is not
// finite. NaN counts as minus infinity, which is never drawn. u comes from the input `random`, which is that
// of dropout.h with the number of the token as its step: row i of the batch takes
// random_uniform_double({seed, step, site}, number of the first sample + i), whatever the split over ranks.
// The sums are those of double precision.
struct SampleArgs {
  TensorId logits = kNoTensor;    // [..., V]
  TensorId sampling = kNoTensor;  // f32 [3]
  TensorId random = kNoTensor;    // i64 [3]
  std::int64_t vocabulary = 0;    // 0 means all columns
  TensorId into = kNoTensor;      // i32 [...]
};
void sample(GraphBuilder& builder, const SampleArgs& args);

// Inputs by position, for kernels.
namespace sample_input {
enum : int { kLogits, kSampling, kRandom };
}  // namespace sample_input

// What the input `sampling` says, checked: Error (input) where the temperature is negative or not finite,
// top_k not a whole number from 0 on, or top_p not within 0 and 1.
struct SamplingSettings {
  SamplingSettings(const OpView& op, double temperature, double top_k, double top_p);
  double temperature;
  std::int64_t top_k;  // at most the vocabulary, which is what 0 stands for
  double top_p;
};

}  // namespace nadi::inline describe
