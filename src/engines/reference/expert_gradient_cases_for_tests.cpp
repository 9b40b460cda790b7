// The graphs of layers with experts whose gradients are checked, on one rank. A step of the check must not change which
// experts are chosen: logits are a permutation of distant values, moved a little by a parameter.
#include "nadi/graph/ops.h"
#include "nadi/reference/gradient_check_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr std::int64_t kTokens = 5, kExperts = 6;

// [5, 6], each row in an order of its own.
TensorId distant_logits(Problem& p) {
  Doubles values;
  for (std::int64_t t = 0; t < kTokens; ++t)
    for (std::int64_t e = 0; e < kExperts; ++e)
      values.push_back(0.4 * static_cast<double>((e * (t % 2 == 0 ? 5 : 1) + 2 * t) % kExperts) - 1);
  const TensorId logits = p.parameter("logits", Shape{kTokens, kExperts});
  p.store.set("logits", std::move(values));
  return logits;
}

TensorId small_bias(Problem& p) {
  return p.input("bias", Shape{kExperts}, {0.3, 0, -0.3, 0.5, -0.1, 0.1});
}

void route_case(Problem& p, const RouteSettings& settings, bool biased = false) {
  const TensorId bias = biased ? small_bias(p) : kNoTensor;
  p.output(route(p.builder, {.logits = distant_logits(p), .bias = bias, .settings = settings}).weights);
}

struct Placed {
  Routes routes;
  PlacedTokens tokens;
};
Placed placed(Problem& p, double capacity_factor = 0, bool padded = false,
              DropPolicy policy = DropPolicy::kProbs) {
  const Routes routes =
      route(p.builder, {.logits = distant_logits(p), .settings = {.top_k = 2, .normalized = true}});
  return {.routes = routes,
          .tokens = place_tokens(p.builder, {.experts = routes.experts,
                                             .weights = routes.weights,
                                             .expert_count = kExperts,
                                             .capacity_factor = capacity_factor,
                                             .padded = padded,
                                             .policy = policy})};
}

// A whole layer: tokens to their experts, SwiGLU with each expert's weights, and back.
void layer_case(Problem& p, const Placed& layer) {
  const TensorId x = p.parameter("x", Shape{1, kTokens, 3});
  PlacedTokens places = layer.tokens;
  places.slots = reshape(p.builder, places.slots, Shape{1, kTokens, 2});
  const TensorId rows = permute_tokens(p.builder, x, places);
  const TensorId weights = permute_weights(p.builder, layer.routes.weights, layer.tokens);
  const auto product = [&](TensorId a, const char* name, std::int64_t inner, std::int64_t outer,
                           bool transposed) {
    const Shape shape = transposed ? Shape{kExperts, outer, inner} : Shape{kExperts, inner, outer};
    return grouped_matmul(p.builder, {.a = a,
                                      .b = p.parameter(name, shape),
                                      .counts = places.counts,
                                      .transpose_b = transposed,
                                      .rows_in_use = places.rows_in_use});
  };
  const TensorId inner = weighted_swiglu(p.builder, {.gate = product(rows, "gate", 3, 4, true),
                                                     .up = product(rows, "up", 3, 4, false),
                                                     .weights = weights,
                                                     .counts = places.counts,
                                                     .rows_in_use = places.rows_in_use});
  p.output(unpermute_tokens(p.builder, product(inner, "down", 4, 3, true), places));
}

template <RouterScore kScore>
void balance_case(Problem& p) {
  const RouteSettings settings{.top_k = 2, .score = kScore};
  const TensorId logits = distant_logits(p);
  const RouterSums one = router_sums(p.builder, logits, settings);
  const TensorId shifted = add(p.builder, logits, p.normal_input("shift", Shape{kTokens, kExperts}));
  const RouterSums other = router_sums(p.builder, shifted, settings);
  p.output(balance_loss(p.builder,
                        {.scores = add(p.builder, one.scores, other.scores),
                         .counts = add(p.builder, one.counts, other.counts)},
                        {.factor = 3, .tokens = 2 * kTokens}));
}

}  // namespace

std::vector<GradientCase> expert_gradient_cases() {
  return {
      {"route_softmax", [](Problem& p) { route_case(p, {.top_k = 2}); }},
      {"route_softmax_normalized", [](Problem& p) { route_case(p, {.top_k = 3, .normalized = true}); }},
      {"route_sigmoid_bias_groups",
       [](Problem& p) {
         route_case(p,
                    {.top_k = 2,
                     .score = RouterScore::kSigmoid,
                     .normalized = true,
                     .scale = 2.5,
                     .groups = 3,
                     .chosen_groups = 2,
                     .group_best = 2},
                    true);
       }},
      {"route_sigmoid", [](Problem& p) { route_case(p, {.top_k = 4, .score = RouterScore::kSigmoid}); }},
      {"route_softmax_of_chosen",
       [](Problem& p) { route_case(p, {.top_k = 3, .score = RouterScore::kSoftmaxOfChosen, .scale = 1.5}); }},
      {"experts_dropless", [](Problem& p) { layer_case(p, placed(p)); }},
      {"experts_with_capacity", [](Problem& p) { layer_case(p, placed(p, 1.2)); }},
      {"experts_padded_to_capacity",
       [](Problem& p) { layer_case(p, placed(p, 1, true, DropPolicy::kPosition)); }},
      {"sigmoid_gate",
       [](Problem& p) {
         p.output(
             sigmoid_gate(p.builder, p.parameter("y", Shape{2, 3, 4}), p.parameter("gate", Shape{2, 3, 1})));
       }},
      {"balance_loss_softmax", balance_case<RouterScore::kSoftmax>},
      {"balance_loss_sigmoid", balance_case<RouterScore::kSigmoid>},
      {"router_z_loss",
       [](Problem& p) {
         p.output(router_z_loss(p.builder, p.parameter("logits", Shape{3, 7}), {.factor = 0.5, .tokens = 3}));
       }},
  };
}

}  // namespace nadi::inline engines
