// Products with few rows, as when tokens are generated one by one: reading the weights is all that takes
// time. Kernels of our own read each weight once, and take what comes before and after a product along.
#pragma once

#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

// Computes a matmul of at most kFewRows rows. False, and nothing was done, where it is none, or where its
// operands do not allow it.
bool decode_matmul(const KernelCall& call, const OpCall& op);

}  // namespace nadi::inline engines::cuda
