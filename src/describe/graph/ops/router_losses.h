// What keeps experts evenly busy: losses of the router, and the bias that is moved instead of one. Letters: T
// tokens, E experts, k of them per token.
//
// router_sums: of each expert, P_e = the sum over tokens of its score (softmax over E, or its sigmoid divided by the
// sum of all), and n_e = how many tokens have it among their k largest scores. Bias, groups and dropping play no
// part in n_e.
//
// balance_loss: factor * sum_e P_e n_e / tokens^2, of one layer, or of the sums over several layers; `tokens` counts
// those of all of them. It is factor * k / E when experts are equally busy.
// router_z_loss: factor * the mean over tokens of logsumexp(logits)^2.
// A loss is reported as it is; where it joins the loss of the training it is multiplied by `coefficient`, so its
// gradient is, too.
//
// update_expert_bias: bias + rate * sign(mean of counts - counts), once per update.
#pragma once

#include "nadi/graph/builder.h"
#include "nadi/graph/ops/route.h"

namespace nadi::inline describe {

struct RouterSums {
  TensorId scores;  // f32 [E]
  TensorId counts;  // f32 [E]
};
// `score`: kSoftmax or kSigmoid; that of the chosen alone counts as kSoftmax.
RouterSums router_sums(GraphBuilder& builder, TensorId logits, const RouteSettings& settings);

struct RouterLossArgs {
  double factor = 1;
  double coefficient = 1;
  std::int64_t tokens = 1;
  OpOutput into = {};  // a variable, or a new value
};
TensorId balance_loss(GraphBuilder& builder, const RouterSums& sums, const RouterLossArgs& args);
TensorId router_z_loss(GraphBuilder& builder, TensorId logits, const RouterLossArgs& args);

// Writes the bias, f32 [E]. `counts`: f32 [E], how many tokens chose each expert.
void update_expert_bias(GraphBuilder& builder, TensorId bias, TensorId counts, double rate);

}  // namespace nadi::inline describe
