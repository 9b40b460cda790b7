// y[..., :] = table[ids[...], :]. The gradient adds rows up in the table's gradient.
//
// Where the table is split over ranks by rows, `place` (i32 [1]) is the number of this part: its rows start
// at place * rows, and ids of other parts give zeros, to be summed over the ranks.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

TensorId embedding(GraphBuilder& builder, TensorId ids, TensorId table, TensorId place = kNoTensor);

}  // namespace nadi::inline describe
