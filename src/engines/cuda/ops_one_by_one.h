// Ops that were fused, each by its own kernel after all: where a fused kernel finds operands that it does not
// take. What the ops hand to each other without memory of its own lies in the workspace meanwhile.
#pragma once

#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

// The workspace is kProductWorkspace bytes, and as many as the outputs of the ops take (fusing.h).
void run_one_by_one(const KernelCall& call);

}  // namespace nadi::inline engines::cuda
