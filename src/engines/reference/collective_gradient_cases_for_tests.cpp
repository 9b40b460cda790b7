// The graphs on several ranks whose gradients are checked. The loss is the sum over ranks, and a parameter of
// one rank is moved on that rank alone, except where parameter or loss are shared.
#include "nadi/graph/ops.h"
#include "nadi/graph/ops/gather_again.h"
#include "nadi/reference/gradient_check_for_tests.h"

namespace nadi::inline engines {
namespace {

GroupArgs all(const Problem& p) {
  return {.group = "all", .size = p.ranks()};
}

// Each rank's own value, not linear in its parameter.
TensorId own_value(Problem& p, const Shape& shape) {
  return gelu(p.builder, p.parameter("x", shape), Activation::kGeluErf);
}

// What follows the communication is not linear either, and differs between ranks.
void own_output(Problem& p, TensorId y) {
  const TensorId z = add(p.builder, y, p.normal_input("shift", p.builder.shape(y)));
  p.output(gelu(p.builder, z, Activation::kGeluTanh));
}

template <ReduceOp kOp>
void all_reduce_case(Problem& p) {
  own_output(p, all_reduce(p.builder, {.x = own_value(p, Shape{4, 5}), .group = all(p), .op = kOp}));
  p.output(all_reduce(p.builder, {.x = p.parameter("linear", Shape{12}), .group = all(p), .op = kOp}));
}

// Every rank computes the same from the result on, so there is one loss.
template <ReduceOp kOp>
void replicated_all_reduce_case(Problem& p) {
  const TensorId y =
      all_reduce(p.builder, {.x = own_value(p, Shape{2, 3}), .group = all(p), .op = kOp, .replicated = true});
  p.output(gelu(p.builder, y, Activation::kGeluTanh));
}

}  // namespace

std::vector<GradientCase> collective_gradient_cases() {
  return {
      {"all_reduce_sum", all_reduce_case<ReduceOp::kSum>, 3},
      {"all_reduce_average", all_reduce_case<ReduceOp::kAverage>, 3},
      {"all_reduce_minimum", all_reduce_case<ReduceOp::kMinimum>, 3},
      {"all_reduce_maximum", all_reduce_case<ReduceOp::kMaximum>, 2},
      {"all_reduce_product", all_reduce_case<ReduceOp::kProduct>, 3},
      {"all_reduce_replicated_sum", replicated_all_reduce_case<ReduceOp::kSum>, 3, true},
      {"all_reduce_replicated_minimum", replicated_all_reduce_case<ReduceOp::kMinimum>, 3, true},
      {"all_reduce_replicated_maximum", replicated_all_reduce_case<ReduceOp::kMaximum>, 2, true},
      {"all_reduce_replicated_product", replicated_all_reduce_case<ReduceOp::kProduct>, 3, true},
      // Member r has 3 rows of which it gives r + 1 to the other and keeps the rest.
      {"exchange_rows",
       [](Problem& p) {
         const int other = 1 - p.rank();
         Doubles sent(2), received(2);
         sent[p.rank()] = received[p.rank()] = 2 - p.rank();
         sent[other] = p.rank() + 1;
         received[other] = other + 1;
         own_output(p, exchange_rows(p.builder, {.x = own_value(p, Shape{3, 2}),
                                                 .sent = p.integers("sent", Shape{2}, sent),
                                                 .received = p.integers("received", Shape{2}, received),
                                                 .rows = 5,
                                                 .rows_in_use = 3,
                                                 .group = all(p)}));
       },
       2},
      {"reduce",
       [](Problem& p) {
         own_output(p, reduce(p.builder, own_value(p, Shape{2, 3}), all(p), 1));
       },
       3},
      {"broadcast",
       [](Problem& p) {
         const TensorId x = own_value(p, Shape{2, 3});
         own_output(p, broadcast(p.builder, x, all(p), 1));
         p.output(x);
       },
       3},
      {"all_gather_outer_axis",
       [](Problem& p) {
         own_output(p, all_gather(p.builder, own_value(p, Shape{2, 3}), all(p), 0));
       },
       3},
      {"all_gather_inner_axis",
       [](Problem& p) {
         own_output(p, all_gather(p.builder, own_value(p, Shape{2, 3, 2}), all(p), 1));
       },
       2},
      {"reduce_scatter_outer_axis",
       [](Problem& p) {
         own_output(p, reduce_scatter(p.builder, own_value(p, Shape{6, 2}), all(p), 0));
       },
       3},
      {"reduce_scatter_inner_axis",
       [](Problem& p) {
         own_output(p, reduce_scatter(p.builder, own_value(p, Shape{2, 4, 2}), all(p), 1));
       },
       2},
      {"all_to_all_one_axis",
       [](Problem& p) {
         own_output(p, all_to_all(p.builder, {.x = own_value(p, Shape{4, 3}), .group = all(p)}));
       },
       2},
      {"all_to_all_two_axes",
       [](Problem& p) {
         own_output(
             p, all_to_all(
                    p.builder,
                    {.x = own_value(p, Shape{2, 3, 6}), .group = all(p), .split_axis = 2, .concat_axis = 1}));
       },
       3},
      {"copy_to_group",
       [](Problem& p) {
         const TensorId x = p.shared_parameter("shared", Shape{2, 3});
         own_output(p, copy_to_group(p.builder, x, all(p)));
       },
       3},
      // Megatron's feed-forward layer: columns of the first weight and rows of the second on each rank.
      {"tensor_parallel_layer",
       [](Problem& p) {
         const TensorId x = copy_to_group(p.builder, p.shared_parameter("x", Shape{2, 3}), all(p));
         const TensorId h = matmul(p.builder, {.a = x,
                                               .b = p.parameter("up", Shape{3, 4}),
                                               .bias = p.parameter("up_bias", Shape{4}),
                                               .activation = Activation::kGeluTanh});
         const TensorId y = matmul(p.builder, {.a = h, .b = p.parameter("down", Shape{4, 3})});
         const TensorId sum = all_reduce(p.builder, {.x = y, .group = all(p), .replicated = true});
         p.output(add(p.builder, sum, p.shared_parameter("down_bias", Shape{3})));
       },
       2, true},
      // The same with tokens split outside of it, and gathered again for the weights' gradients: two layers
      // and a value that is not a weight's gradient read what is gathered.
      {"sequence_parallel_layer",
       [](Problem& p) {
         const TensorId own = own_value(p, Shape{2, 3});
         const TensorId x = all_gather_again(p.builder, own, all(p), 0);
         const TensorId gate = matmul(p.builder, {.a = x, .b = p.parameter("gate", Shape{3, 4})});
         const TensorId up = matmul(p.builder, {.a = reshape(p.builder, x, Shape{1, 4, 3}),
                                                .b = p.parameter("up", Shape{3, 4}),
                                                .activation = Activation::kGeluTanh});
         const TensorId inner = swiglu(p.builder, gate, reshape(p.builder, up, Shape{4, 4}));
         const TensorId y = matmul(p.builder, {.a = inner, .b = p.parameter("down", Shape{4, 3})});
         const TensorId sum = add(p.builder, y, gelu(p.builder, x, Activation::kGeluErf));
         own_output(p, add(p.builder, own, reduce_scatter(p.builder, sum, all(p), 0)));
       },
       2},
      {"vocabulary_parallel_loss",
       [](Problem& p) {
         // 9 entries over 2 ranks of 5 columns: the last column is padding. Row 1 does not count.
         p.output(sharded_cross_entropy(
             p.builder, {.whole = {.logits = own_value(p, Shape{4, 5}),
                                   .targets = p.integers("targets", Shape{4}, {0, kIgnoredTarget, 4, 8}),
                                   .count = p.scalar("count", 3),
                                   .vocabulary = 9},
                         .place = p.integers("place", Shape{1}, {static_cast<double>(p.rank())}),
                         .group = "all",
                         .group_size = p.ranks()}));
       },
       2, true},
      {"groups_that_cross",
       [](Problem& p) {
         const TensorId sums =
             all_reduce(p.builder, {.x = own_value(p, Shape{4}), .group = {.group = "row", .size = 2}});
         own_output(p, reduce_scatter(p.builder, sums, {.group = "column", .size = 2}, 0));
       },
       4},
      // A pipeline of three stages; only the last has a loss.
      {"send_and_receive",
       [](Problem& p) {
         const Shape shape{2, 3};
         TensorId x = p.rank() == 0 ? p.normal_input("x", shape)
                                    : receive(p.builder, shape, DType::kF32,
                                              {.group = "all", .peer = p.rank() - 1, .tag = 4});
         x = matmul(p.builder,
                    {.a = x, .b = p.parameter("weight", Shape{3, 3}), .activation = Activation::kGeluTanh});
         if (p.rank() + 1 < p.ranks())
           send(p.builder, x, {.group = "all", .peer = p.rank() + 1, .tag = 4});
         else
           p.output(x);
       },
       3},
      // Rank 0 goes on with what it sent, so that both contributions to its gradient add up.
      {"send_and_keep",
       [](Problem& p) {
         const Shape shape{2, 3};
         if (p.rank() == 0) {
           const TensorId x = own_value(p, shape);
           send(p.builder, x, {.group = "all", .peer = 1});
           own_output(p, x);
         } else {
           own_output(p, receive(p.builder, shape, DType::kF32, {.group = "all", .peer = 0}));
         }
       },
       2},
  };
}

}  // namespace nadi::inline engines
