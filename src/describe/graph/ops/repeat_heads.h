// [B, K, S, D] to [B, K*times, S, D]: each key-value head repeated for the query heads of its group. Only
// unfused attention with grouped queries needs it.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

TensorId repeat_heads(GraphBuilder& builder, TensorId x, std::int64_t times);

}  // namespace nadi::inline describe
