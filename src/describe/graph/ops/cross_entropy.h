// loss = sum over the tokens that count of -log softmax(logits)[target], divided by `count`, the number of
// tokens that count in the whole global batch. So padding, accumulation and data parallelism do not change
// it. A target of kIgnoredTarget does not count. Columns from `vocabulary` on are padding and never get a
// probability. Softmax and logarithm are fused; what is kept for the gradient is one fp32 number per row.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

inline constexpr std::int64_t kIgnoredTarget = -100;

struct CrossEntropyArgs {
  TensorId logits = kNoTensor;   // [..., V]
  TensorId targets = kNoTensor;  // i32 [...]
  TensorId count = kNoTensor;    // f32 scalar
  std::int64_t vocabulary = 0;   // 0 means all columns
  OpOutput into = {};            // the variable that takes the loss; a new value when left out
};
TensorId cross_entropy(GraphBuilder& builder, const CrossEntropyArgs& args);

// The same where the vocabulary is split over the ranks of a group: `logits` are this rank's columns, those
// from place * columns on (place: i32 [1]). Two reductions per step: the largest logit of each row, then the
// sum of exponentials together with the target's logit, which one rank has.
struct ShardedCrossEntropyArgs {
  CrossEntropyArgs whole;  // `vocabulary` counts all ranks' columns, without padding
  TensorId place = kNoTensor;
  std::string group;
  std::int64_t group_size = 1;
};
TensorId sharded_cross_entropy(GraphBuilder& builder, const ShardedCrossEntropyArgs& args);

// Inputs by position, for kernels: of the loss and its gradient, and of the parts of the sharded form.
namespace cross_entropy_input {
enum : int { kLogits, kTargets, kCount, kStatistics, kGradient, kPlace };
}
namespace sharded_cross_entropy_input {
enum : int { kLogits, kTargets, kCount, kMaximum, kSums, kPlace };
}

}  // namespace nadi::inline describe
