// Ops that move or make data without computing: copy (a view becomes contiguous), cast (another element
// type), fill (a constant).
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

TensorId copy(GraphBuilder& builder, TensorId x);
TensorId cast(GraphBuilder& builder, TensorId x, DType to);  // x itself when it has that type already

// Sets every element of a variable.
void fill(GraphBuilder& builder, TensorId variable, double value);

}  // namespace nadi::inline describe
