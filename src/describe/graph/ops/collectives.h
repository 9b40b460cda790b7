// Communication among a group of ranks. A group has a name, which the plan of the job turns into ranks, and a
// size; every member runs the op at the same place of its program.
//
// Gradients follow from one convention: the loss of the job is the sum of the losses of its ranks. So the
// gradient of a sum over ranks is the sum over ranks of the gradients. Where the ranks of a group hold the
// same values and compute the same loss from then on (tensor parallelism), that sum would count it once per
// rank: `replicated` says so, and the gradient then passes unchanged. Its counterpart is copy_to_group():
// nothing forward, the sum of the branches' gradients backward.
#pragma once

#include <span>

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

enum class ReduceOp : std::uint8_t { kSum, kAverage, kMinimum, kMaximum, kProduct };
std::string_view to_string(ReduceOp op);  // "sum", "avg", "min", "max", "prod"
ReduceOp reduce_op_named(std::string_view name);

struct GroupArgs {
  std::string group;
  std::int64_t size = 1;
};

// y = x combined over the group, on every member.
struct AllReduceArgs {
  TensorId x = kNoTensor;
  GroupArgs group;
  ReduceOp op = ReduceOp::kSum;
  bool replicated = false;
  OpOutput into = {};
};
TensorId all_reduce(GraphBuilder& builder, const AllReduceArgs& args);

// The sum on member `root`, zeros elsewhere.
TensorId reduce(GraphBuilder& builder, TensorId x, const GroupArgs& group, std::int64_t root);

// The members' tensors one after the other along `axis`, on every member.
TensorId all_gather(GraphBuilder& builder, TensorId x, const GroupArgs& group, int axis);

// The sum over members, of which member i gets part i along `axis`.
TensorId reduce_scatter(GraphBuilder& builder, TensorId x, const GroupArgs& group, int axis);

// Member `root`'s tensor on every member.
TensorId broadcast(GraphBuilder& builder, TensorId x, const GroupArgs& group, std::int64_t root);

// Member i's part j along `split_axis` goes to member j, which joins what it gets along `concat_axis`.
struct AllToAllArgs {
  TensorId x = kNoTensor;
  GroupArgs group;
  int split_axis = 0;
  int concat_axis = 0;
};
TensorId all_to_all(GraphBuilder& builder, const AllToAllArgs& args);

// Buckets: many tensors seen as one flat array, reduced in place; or summed, of which each member gets an
// equal part (the array is padded to divide); or, the other way, put together again from the members' parts.
// None has a gradient: they belong behind the backward pass.
void bucket_all_reduce(GraphBuilder& builder, std::span<const TensorId> tensors, const GroupArgs& group);
std::int64_t bucket_part(std::int64_t elements, std::int64_t members);  // elements of one member's part
void bucket_reduce_scatter(GraphBuilder& builder, std::span<const TensorId> tensors, const GroupArgs& group,
                           TensorId into);
void bucket_all_gather(GraphBuilder& builder, TensorId part, const GroupArgs& group,
                       std::span<const TensorId> into);

// x itself; its gradient is the sum over the group.
TensorId copy_to_group(GraphBuilder& builder, TensorId x, const GroupArgs& group);

}  // namespace nadi::inline describe
