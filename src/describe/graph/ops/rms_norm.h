// y = x / sqrt(mean(x^2) + epsilon) * weight over the last axis. The reciprocal root of each row is kept for
// the gradient, in fp32.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

struct RmsNormArgs {
  TensorId x = kNoTensor;
  TensorId weight = kNoTensor;
  double epsilon = 1e-5;
};
TensorId rms_norm(GraphBuilder& builder, const RmsNormArgs& args);

}  // namespace nadi::inline describe
