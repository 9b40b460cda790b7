// Element-wise ops of layers with experts.
//
// weighted_swiglu: silu(gate) * up * weight, with one weight per row: how much the row's expert counts for its
// token. Multiplied here rather than behind the product that follows, so that for the gradient neither that product's
// result nor its own is kept. Rows behind the counted ones are zeros.
//
// sigmoid_gate: y * sigmoid(gate), with one gate per row: of experts that every token has.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

struct WeightedSwigluArgs {
  TensorId gate = kNoTensor;     // [R, W]
  TensorId up = kNoTensor;       // [R, W]
  TensorId weights = kNoTensor;  // f32 [R, 1]
  TensorId counts = kNoTensor;   // i32 [E]: their sum is the number of rows in use
  std::int64_t rows_in_use = 0;  // as far as it is known before the step runs
};
TensorId weighted_swiglu(GraphBuilder& builder, const WeightedSwigluArgs& args);

TensorId sigmoid_gate(GraphBuilder& builder, TensorId y, TensorId gate);  // [..., W] and [..., 1]

namespace weighted_swiglu_input {
enum : int { kGate, kUp, kWeights, kCounts, kGradient };
}

}  // namespace nadi::inline describe
