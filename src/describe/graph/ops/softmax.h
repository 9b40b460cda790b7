// Softmax over the last axis of attention scores [B, H, T, S], with the causal mask (query i sees keys 0 to
// i) and the mask of padded keys (sequence b has lengths[b]) applied inside.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

struct SoftmaxArgs {
  TensorId x = kNoTensor;
  TensorId lengths = kNoTensor;  // i32 [B]
  bool causal = false;
};
TensorId softmax(GraphBuilder& builder, const SoftmaxArgs& args);

}  // namespace nadi::inline describe
