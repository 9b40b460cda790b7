// y = (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis. Mean and reciprocal standard
// deviation of each row are kept for the gradient, in fp32.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

struct LayerNormArgs {
  TensorId x = kNoTensor;
  TensorId weight = kNoTensor;
  TensorId bias = kNoTensor;
  double epsilon = 1e-5;
};
TensorId layer_norm(GraphBuilder& builder, const LayerNormArgs& args);

}  // namespace nadi::inline describe
