// An all-gather whose result is not kept for the backward pass.
//
// The result of an all-gather is as many times larger than its input as the group has members. Sequence
// parallelism gathers the input of every column-split layer, and what those would keep is most of what a
// layer keeps. So the backward pass keeps the member's own part and gathers a second time: one all-gather
// more, and 1/n of the memory. add_backward() does so, in phase `backward`:
//
//   all_gather.again      before the first rule that reads the result: it travels while that rule computes
//   matmul.grad_a         the gradient of its own input
//   reduce_scatter.grad   of that gradient, which travels while
//   matmul.grad_b         the gradient of the weight is computed from what was gathered again
//
// Views and roundings (straight-through ops) of the result are not kept either, but made again with it.
#pragma once

#include "nadi/graph/ops/collectives.h"

namespace nadi::inline describe {

// all_gather() of collectives.h, not kept.
TensorId all_gather_again(GraphBuilder& builder, TensorId x, const GroupArgs& group, int axis);

bool is_gathered_again(const Op& op);

}  // namespace nadi::inline describe
