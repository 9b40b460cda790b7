// GELU on rows of fp32 numbers, for the kernels that fuse it.
#pragma once

#include <cstdint>

#include "nadi/graph/ops/matmul.h"

namespace nadi::inline engines::cpu {

// y = gelu(x); y may be x.
void gelu_row(Activation form, const float* x, std::int64_t count, float* y);
// dx = dy * gelu'(x); dx may be dy or x.
void gelu_grad_row(Activation form, const float* x, const float* dy, std::int64_t count, float* dx);

}  // namespace nadi::inline engines::cpu
