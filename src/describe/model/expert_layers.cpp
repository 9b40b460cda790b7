// Feed-forward layers of experts, as Layers builds them: the router, the rows of each expert, their products, and what
// keeps them evenly busy.
#include "nadi/graph/ops.h"
#include "nadi/model/expert_names.h"
#include "nadi/model/layers.h"

namespace nadi::inline describe {

RouteSettings Layers::routing(const ExpertNames& names) const {
  return {.top_k = config_.experts_per_token,
          .score = names.score,
          .normalized = config_.normalized_experts,
          .scale = config_.expert_scale,
          .groups = config_.expert_groups,
          .chosen_groups = config_.chosen_expert_groups,
          .group_best = names.group_best};
}

TensorId Layers::expert_weights(const std::string& name, const Shape& whole, int, double deviation) {
  const auto scope = builder_.in_layer(name);
  return parameter("weight", whole,
                   Initializer::normal(deviation > 0 ? deviation : config_.initializer_range));
}

TensorId Layers::experts(TensorId x, const ExpertsSpec& spec) {
  const ExpertNames& names = spec.names;
  const RouteSettings settings = routing(names);
  RoutedTokens tokens{.x = x};
  {
    const auto scope = builder_.in_layer(names.router);
    const Shape shape =
        spec.weight_is_out_in ? Shape{config_.experts, config_.width} : Shape{config_.width, config_.experts};
    // Never in fp8: which experts are chosen depends on small differences.
    const TensorId logits =
        matmul(builder_, {.a = x,
                          .b = parameter("weight", shape, Initializer::normal(config_.initializer_range)),
                          .transpose_b = spec.weight_is_out_in});
    TensorId bias = kNoTensor;
    if (!names.choice_bias.empty()) {
      const std::string name = builder_.layer() + "." + names.choice_bias;
      bias = builder_.parameter(name, Shape{config_.experts}, DType::kF32, Initializer::constant(0));
    }
    tokens.routes = route(builder_, {.logits = logits, .bias = bias, .settings = settings});
    balance(logits, settings);
  }
  const TensorId routed = routed_experts(to_experts(tokens), spec);
  const TensorId y = from_experts(routed);
  return names.shared.up.empty() || config_.shared_expert_width == 0 ? y : add(y, shared_expert(x, spec));
}

TensorId Layers::routed_experts(const RoutedTokens& tokens, const ExpertsSpec& spec) {
  const ExpertNames& names = spec.names;
  const std::string load_name = builder_.layer() + "." + names.router + ".load";
  const auto scope = builder_.in_layer(names.scope);
  const PlacedTokens placed = place_tokens(builder_, {.experts = tokens.routes.experts,
                                                      .weights = tokens.routes.weights,
                                                      .expert_count = config_.experts,
                                                      .capacity_factor = options_.experts.capacity_factor,
                                                      .padded = options_.experts.padded,
                                                      .policy = options_.experts.drop_policy});
  if (training()) {
    const TensorId load =
        builder_.variable({.name = load_name, .shape = builder_.shape(placed.load), .role = Role::kMetric});
    builder_.add({.kind = OpKind::kCopy, .inputs = {placed.load}, .into = {{load, accumulate_loss_}}});
  }
  const ExpertRows own{.rows = permute_tokens(builder_, tokens.x, placed),
                       .weights = permute_weights(builder_, tokens.routes.weights, placed),
                       .placed = placed};
  const ExpertRows here = dispatch(own);
  const bool out_in = spec.weight_is_out_in;
  const auto product = [&](TensorId a, const std::string& name, std::int64_t inputs, std::int64_t outputs,
                           int axis, double deviation) {
    const Shape whole =
        out_in ? Shape{config_.experts, outputs, inputs} : Shape{config_.experts, inputs, outputs};
    const TensorId b = expert_weights(name, whole, axis, deviation);
    const auto layer = builder_.in_layer(name);
    return grouped_matmul(builder_, {.a = a,
                                     .b = b,
                                     .counts = here.placed.counts,
                                     .transpose_b = out_in,
                                     .rows_in_use = here.placed.rows_in_use});
  };
  const int outputs_axis = out_in ? 1 : 2, inputs_axis = out_in ? 2 : 1;
  const TensorId gate = product(here.rows, names.gate, config_.width, config_.expert_width, outputs_axis, 0);
  const TensorId up = product(here.rows, names.up, config_.width, config_.expert_width, outputs_axis, 0);
  const TensorId inner = weighted_swiglu(builder_, {.gate = gate,
                                                    .up = up,
                                                    .weights = here.weights,
                                                    .counts = here.placed.counts,
                                                    .rows_in_use = here.placed.rows_in_use});
  const TensorId out =
      product(inner, names.output, config_.expert_width, config_.width, inputs_axis, spec.output_deviation);
  return unpermute_tokens(builder_, combine(out, own, here), placed);
}

TensorId Layers::shared_expert(TensorId x, const ExpertsSpec& spec) {
  const ExpertNames::Shared& names = spec.names.shared;
  TensorId y;
  {
    const auto scope = builder_.in_layer(names.scope);
    const auto inner = [&](const std::string& name) {
      return linear(x, {.name = name,
                        .outputs = config_.shared_expert_width,
                        .bias = false,
                        .weight_is_out_in = spec.weight_is_out_in,
                        .split = Split::kColumns});
    };
    const TensorId up = inner(names.up);
    y = linear(swiglu(builder_, inner(names.gate), up), {.name = names.output,
                                                         .outputs = config_.width,
                                                         .bias = false,
                                                         .weight_is_out_in = spec.weight_is_out_in,
                                                         .split = Split::kRows,
                                                         .deviation = spec.output_deviation});
  }
  if (names.router.empty()) return y;
  const TensorId gate = linear(
      x, {.name = names.router, .outputs = 1, .bias = false, .weight_is_out_in = spec.weight_is_out_in});
  return sigmoid_gate(builder_, y, gate);
}

// The variable of a loss that several layers add to, made on first use.
OpOutput Layers::router_metric(const char* name, TensorId& variable) {
  const bool first = variable == kNoTensor;
  if (first) variable = builder_.variable({.name = name, .role = Role::kMetric});
  return {variable, accumulate_loss_ || !first};
}

void Layers::balance(TensorId logits, const RouteSettings& settings) {
  if (with_cache()) return;
  const ExpertOptions& options = options_.experts;
  const std::int64_t own_tokens = builder_.shape(logits).elements() / config_.experts;
  const std::int64_t tokens = own_tokens * balanced_ranks();
  const auto groups = static_cast<double>(options_.token_groups);
  if (options.z_coefficient > 0)
    nadi::router_z_loss(builder_, logits,
                        {.factor = 1 / groups,
                         .coefficient = options.z_coefficient,
                         .tokens = tokens,
                         .into = router_metric("router_z_loss", z_loss_)});
  const double coefficient =
      options.balance_coefficient.value_or(config_.balance_loss ? config_.balance_coefficient : 0);
  const BalanceLossKind kind =
      options.balance.value_or(is_pipeline() ? BalanceLossKind::kPerLayer : BalanceLossKind::kPooled);
  if (coefficient == 0 || kind == BalanceLossKind::kNone) return;
  RouterSums sums = router_sums(builder_, logits, settings);
  sums.counts = of_balanced_tokens(sums.counts);
  if (kind == BalanceLossKind::kPooled) {
    // Added up layer by layer, so that layers are alike.
    pooled_ = pooled_tokens_ == 0
                  ? sums
                  : RouterSums{add(pooled_.scores, sums.scores), add(pooled_.counts, sums.counts)};
    pooled_tokens_ += tokens;
    return;
  }
  const auto experts = static_cast<double>(config_.experts), per_token = static_cast<double>(settings.top_k);
  nadi::balance_loss(builder_, sums,
                     {.factor = experts / per_token / groups,
                      .coefficient = coefficient,
                      .tokens = tokens,
                      .into = router_metric("auxiliary_loss", balance_loss_)});
}

// transformers counts each token once for each of its experts.
void Layers::pooled_balance_loss() {
  const auto scope = builder_.in_layer("balance");
  nadi::balance_loss(
      builder_, pooled_,
      {.factor = static_cast<double>(config_.experts) / static_cast<double>(options_.token_groups),
       .coefficient = options_.experts.balance_coefficient.value_or(config_.balance_coefficient),
       .tokens = pooled_tokens_,
       .into = router_metric("auxiliary_loss", balance_loss_)});
}

}  // namespace nadi::inline describe
