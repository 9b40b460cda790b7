#include "nadi/graph/ops/router_losses.h"

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kScoreFlops = 5;
constexpr std::int64_t kScoreGradFlops = 9;
constexpr std::int64_t kLogSumFlops = 4;
constexpr std::int64_t kLogSumGradFlops = 6;

std::vector<AttributeSpec> sums_attributes() {
  return {{"top_k", std::int64_t{1}}, {"score", std::string(to_string(RouterScore::kSoftmax))}};
}
std::vector<AttributeSpec> loss_attributes() {
  return {{"factor", 1.0}, {"coefficient", 1.0}, {"tokens", std::int64_t{1}}};
}

std::vector<OutputSpec> infer_sums(const OpView& op) {
  const Shape& logits = op.in(0);
  const std::int64_t top_k = op.attributes().integer("top_k");
  router_score_named(op.attributes().text("score"));
  op.require(logits.rank() >= 1 && top_k >= 1 && top_k <= logits[-1],
             "needs logits [..., experts] and at most so many experts per token");
  return {{Shape{logits[-1]}, DType::kF32}, {Shape{logits[-1]}, DType::kF32}};
}

std::vector<OutputSpec> infer_sums_grad(const OpView& op) {
  op.require(op.in(1) == Shape{op.in(0)[-1]}, "the gradient must have a number for every expert");
  return {{op.in(0), op.input(0).dtype}};
}

std::vector<OutputSpec> infer_balance(const OpView& op) {
  op.require(op.in(0).rank() == 1 && op.in(0) == op.in(1), "scores and counts differ in their number");
  return {{Shape{}, DType::kF32}};
}

std::vector<OutputSpec> infer_balance_grad(const OpView& op) {
  op.require(op.in(0).rank() == 1 && op.in(1) == Shape{}, "needs counts and the gradient of the loss");
  return {{op.in(0), DType::kF32}};
}

std::vector<OutputSpec> infer_z(const OpView& op) {
  op.require(op.in(0).rank() >= 1, "needs logits [..., experts]");
  return {{Shape{}, DType::kF32}};
}

std::vector<OutputSpec> infer_z_grad(const OpView& op) {
  op.require(op.in(1) == Shape{}, "the gradient must be a scalar");
  return {{op.in(0), op.input(0).dtype}};
}

template <std::int64_t kFlops>
void cost_per_logit(const OpView& op, const CostContext&, OpCost& cost) {
  cost.vector += Flops{op.in(0).elements()} * kFlops;
}

Attributes of_loss(const RouterLossArgs& args) {
  return {{"factor", args.factor}, {"coefficient", args.coefficient}, {"tokens", args.tokens}};
}

}  // namespace

RouterSums router_sums(GraphBuilder& builder, TensorId logits, const RouteSettings& settings) {
  const RouterScore score =
      settings.score == RouterScore::kSigmoid ? RouterScore::kSigmoid : RouterScore::kSoftmax;
  const std::vector<TensorId> made =
      builder.add({.kind = OpKind::kRouterSums,
                   .inputs = {logits},
                   .attributes = {{"top_k", settings.top_k}, {"score", std::string(to_string(score))}}});
  return {.scores = made[0], .counts = made[1]};
}

TensorId balance_loss(GraphBuilder& builder, const RouterSums& sums, const RouterLossArgs& args) {
  return builder.add_one({.kind = OpKind::kBalanceLoss,
                          .inputs = {sums.scores, sums.counts},
                          .attributes = of_loss(args),
                          .into = {args.into}});
}

TensorId router_z_loss(GraphBuilder& builder, TensorId logits, const RouterLossArgs& args) {
  return builder.add_one(
      {.kind = OpKind::kRouterZLoss, .inputs = {logits}, .attributes = of_loss(args), .into = {args.into}});
}

void update_expert_bias(GraphBuilder& builder, TensorId bias, TensorId counts, double rate) {
  builder.add({.kind = OpKind::kUpdateExpertBias,
               .inputs = {bias, counts},
               .attributes = {{"rate", rate}},
               .into = {{bias}}});
}

OpDefinition router_sums_definition() {
  return {.kind = OpKind::kRouterSums,
          .name = "router_sums",
          .work = WorkKind::kReduction,
          .attributes = sums_attributes(),
          .inputs = {"logits"},
          .infer = infer_sums,
          .cost =
              [](const OpView& op, const CostContext&, OpCost& cost) {
                cost.vector += Flops{op.in(0).elements()} * (kScoreFlops + op.attributes().integer("top_k"));
              },
          .saves = [](const OpView&) { return Saved{.inputs = bit(0)}; },
          .gradient =
              [](GradientRule& rule) {
                rule.emit({.kind = OpKind::kRouterSumsGrad,
                           .inputs = {rule.input(0), rule.gradient(0)},
                           .attributes = rule.attributes()},
                          {0});
              }};
}

OpDefinition router_sums_grad_definition() {
  return {.kind = OpKind::kRouterSumsGrad,
          .name = "router_sums_grad",
          .work = WorkKind::kSoftmax,
          .attributes = sums_attributes(),
          .inputs = {"logits", "dscores"},
          .infer = infer_sums_grad,
          .cost = cost_per_logit<kScoreGradFlops>};
}

OpDefinition balance_loss_definition() {
  return {.kind = OpKind::kBalanceLoss,
          .name = "balance_loss",
          .work = WorkKind::kReduction,
          .attributes = loss_attributes(),
          .inputs = {"scores", "counts"},
          .infer = infer_balance,
          .cost = cost_per_logit<2>,
          .saves = [](const OpView&) { return Saved{.inputs = bit(1)}; },
          .gradient =
              [](GradientRule& rule) {
                rule.emit({.kind = OpKind::kBalanceLossGrad,
                           .inputs = {rule.input(1), rule.gradient(0)},
                           .attributes = rule.attributes()},
                          {0});
              }};
}

OpDefinition balance_loss_grad_definition() {
  return {.kind = OpKind::kBalanceLossGrad,
          .name = "balance_loss_grad",
          .work = WorkKind::kElementwise,
          .attributes = loss_attributes(),
          .inputs = {"counts", "dloss"},
          .infer = infer_balance_grad,
          .cost = cost_per_logit<1>};
}

OpDefinition router_z_loss_definition() {
  return {.kind = OpKind::kRouterZLoss,
          .name = "router_z_loss",
          .work = WorkKind::kReduction,
          .attributes = loss_attributes(),
          .inputs = {"logits"},
          .infer = infer_z,
          .cost = cost_per_logit<kLogSumFlops>,
          .saves = [](const OpView&) { return Saved{.inputs = bit(0)}; },
          .gradient =
              [](GradientRule& rule) {
                rule.emit({.kind = OpKind::kRouterZLossGrad,
                           .inputs = {rule.input(0), rule.gradient(0)},
                           .attributes = rule.attributes()},
                          {0});
              }};
}

OpDefinition router_z_loss_grad_definition() {
  return {.kind = OpKind::kRouterZLossGrad,
          .name = "router_z_loss_grad",
          .work = WorkKind::kSoftmax,
          .attributes = loss_attributes(),
          .inputs = {"logits", "dloss"},
          .infer = infer_z_grad,
          .cost = cost_per_logit<kLogSumGradFlops>};
}

OpDefinition update_expert_bias_definition() {
  return {.kind = OpKind::kUpdateExpertBias,
          .name = "update_expert_bias",
          .work = WorkKind::kOptimizer,
          .attributes = {{"rate", 0.0}},
          .inputs = {"bias", "counts"},
          .infer =
              [](const OpView& op) {
                op.require(op.in(0) == op.in(1), "bias and counts differ in shape");
                return std::vector<OutputSpec>{{op.in(0), op.input(0).dtype}};
              },
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * 4; }};
}

}  // namespace nadi::inline describe
