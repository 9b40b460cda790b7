// Which experts a token goes to, and with what weight. Letters: E experts, k of them per token.
//
// Scores s are the softmax of a token's logits, or their sigmoids. The k experts with the largest s + bias are
// chosen, of equal ones the lower; the bias only chooses. Weights are the scores of the chosen, divided by
// their sum where `normalized`, times `scale`. With kSoftmaxOfChosen the logits themselves (and the bias)
// choose, and the weights are the softmax of the k chosen.
//
// With groups (experts in equal runs) only experts of the `chosen_groups` best groups may be chosen. A
// group's score is the sum of its `group_best` largest s + bias.
#pragma once

#include <string_view>

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

enum class RouterScore : std::uint8_t { kSoftmax, kSigmoid, kSoftmaxOfChosen };
std::string_view to_string(RouterScore score);  // "softmax", "sigmoid", "softmax of chosen"
RouterScore router_score_named(std::string_view name);

struct RouteSettings {
  std::int64_t top_k = 1;
  RouterScore score = RouterScore::kSoftmax;
  bool normalized = false;
  double scale = 1;
  std::int64_t groups = 1;
  std::int64_t chosen_groups = 1;
  std::int64_t group_best = 1;
};

struct RouteArgs {
  TensorId logits = kNoTensor;  // [..., E]
  TensorId bias = kNoTensor;    // f32 [E], or none
  RouteSettings settings;
};
struct Routes {
  TensorId experts;  // i32 [..., k], the largest first
  TensorId weights;  // f32 [..., k]
};
Routes route(GraphBuilder& builder, const RouteArgs& args);

// What the attributes of a route or its gradient say.
RouteSettings route_settings(const Attributes& attributes);

// Where scores are divided by their sum, so that a token whose sigmoids all are 0 has weights.
inline constexpr double kLeastSum = 1e-20;

namespace route_input {
enum : int { kLogits, kBias };
}
namespace route_grad_input {
enum : int { kLogits, kExperts, kGradient };
}

}  // namespace nadi::inline describe
