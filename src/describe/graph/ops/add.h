// y = a + b. Where b has fewer axes, it is repeated along a's leading ones (position embeddings [T, C] on
// [B, T, C]).
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

TensorId add(GraphBuilder& builder, TensorId a, TensorId b);

}  // namespace nadi::inline describe
