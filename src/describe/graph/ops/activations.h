// Activations, element by element.
//
// The Gaussian error linear unit as an op of its own; matmul can do it as its epilogue.
//   erf form:  0.5 x (1 + erf(x / sqrt 2))
//   tanh form: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
#pragma once

#include "nadi/graph/ops/matmul.h"

namespace nadi::inline describe {

TensorId gelu(GraphBuilder& builder, TensorId x, Activation form);

// Scalar operations per element; 0 for no activation.
std::int64_t gelu_flops(Activation form);

}  // namespace nadi::inline describe
