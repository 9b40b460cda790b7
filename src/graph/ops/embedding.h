// y[..., :] = table[ids[...], :]. The gradient adds rows up in the table's gradient.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi {

TensorId embedding(GraphBuilder& builder, TensorId ids, TensorId table);

}  // namespace nadi
