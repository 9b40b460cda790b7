#include "nadi/graph/ops/route.h"

#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

constexpr std::array kScores{RouterScore::kSoftmax, RouterScore::kSigmoid, RouterScore::kSoftmaxOfChosen};
constexpr std::int64_t kScoreFlops = 5;      // maximum, subtract, exp, sum, divide
constexpr std::int64_t kScoreGradFlops = 7;  // the scores again, multiply, subtract

std::vector<AttributeSpec> attribute_specs() {
  const RouteSettings standard;
  return {{"top_k", standard.top_k},           {"score", std::string(to_string(standard.score))},
          {"normalized", standard.normalized}, {"scale", standard.scale},
          {"groups", standard.groups},         {"chosen_groups", standard.chosen_groups},
          {"group_best", standard.group_best}};
}

void check_settings(const OpView& op, std::int64_t experts) {
  const RouteSettings s = route_settings(op.attributes());
  if (s.top_k < 1 || s.top_k > experts)
    op.refuse(format("{} experts per token of {} experts", s.top_k, experts));
  if (s.groups < 1 || experts % s.groups != 0)
    op.refuse(format("{} experts are not {} equal groups", experts, s.groups));
  const std::int64_t per_group = experts / s.groups;
  if (s.chosen_groups < 1 || s.chosen_groups > s.groups || s.top_k > s.chosen_groups * per_group)
    op.refuse(format("{} of {} groups do not have {} experts", s.chosen_groups, s.groups, s.top_k));
  if (s.group_best < 1 || s.group_best > per_group)
    op.refuse(format("the {} best of groups of {}", s.group_best, per_group));
}

std::vector<OutputSpec> infer(const OpView& op) {
  const Shape& logits = op.in(route_input::kLogits);
  op.require(logits.rank() >= 1, "logits must be [..., experts]");
  check_settings(op, logits[-1]);
  if (op.has(route_input::kBias))
    op.require(op.in(route_input::kBias) == Shape{logits[-1]}, "the bias must be [experts]");
  const Shape chosen = logits.slice(0, logits.rank() - 1).append(op.attributes().integer("top_k"));
  return {{chosen, DType::kI32}, {chosen, DType::kF32}};
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  using namespace route_grad_input;
  op.require(op.in(kExperts) == op.in(kGradient), "experts and the gradient differ in shape");
  check_settings(op, op.in(kLogits)[-1]);
  return {{op.in(kLogits), op.input(kLogits).dtype}};
}

}  // namespace

std::string_view to_string(RouterScore score) {
  switch (score) {
    case RouterScore::kSoftmax:
      return "softmax";
    case RouterScore::kSigmoid:
      return "sigmoid";
    case RouterScore::kSoftmaxOfChosen:
      return "softmax of chosen";
  }
  unreachable();
}

RouterScore router_score_named(std::string_view name) {
  for (const RouterScore score : kScores)
    if (to_string(score) == name) return score;
  throw input_error({}, format("unknown score '{}' of routers", name),
                    "known: softmax, sigmoid, softmax of chosen");
}

RouteSettings route_settings(const Attributes& attributes) {
  return {.top_k = attributes.integer("top_k"),
          .score = router_score_named(attributes.text("score")),
          .normalized = attributes.boolean("normalized"),
          .scale = attributes.real("scale"),
          .groups = attributes.integer("groups"),
          .chosen_groups = attributes.integer("chosen_groups"),
          .group_best = attributes.integer("group_best")};
}

Routes route(GraphBuilder& builder, const RouteArgs& args) {
  const RouteSettings& s = args.settings;
  const std::vector<TensorId> outputs =
      builder.add({.kind = OpKind::kRoute,
                   .inputs = {args.logits, args.bias},
                   .attributes = {{"top_k", s.top_k},
                                  {"score", std::string(to_string(s.score))},
                                  {"normalized", s.normalized},
                                  {"scale", s.scale},
                                  {"groups", s.groups},
                                  {"chosen_groups", s.chosen_groups},
                                  {"group_best", s.group_best}}});
  return {.experts = outputs[0], .weights = outputs[1]};
}

OpDefinition route_definition() {
  return {
      .kind = OpKind::kRoute,
      .name = "route",
      .work = WorkKind::kIndexing,
      .attributes = attribute_specs(),
      .inputs = {"logits", "bias?"},
      .infer = infer,
      // Each of the chosen is found by a look at all.
      .cost =
          [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(0).elements()} * (kScoreFlops + op.attributes().integer("top_k"));
          },
      .saves = [](const OpView&) { return Saved{.inputs = bit(route_input::kLogits), .outputs = bit(0)}; },
      .gradient =
          [](GradientRule& rule) {
            rule.emit({.kind = OpKind::kRouteGrad,
                       .inputs = {rule.input(route_input::kLogits), rule.output(0), rule.gradient(1)},
                       .attributes = rule.attributes()},
                      {route_input::kLogits});
          }};
}

OpDefinition route_grad_definition() {
  return {.kind = OpKind::kRouteGrad,
          .name = "route_grad",
          .work = WorkKind::kIndexing,
          .attributes = attribute_specs(),
          .inputs = {"logits", "experts", "dweights"},
          .infer = infer_grad,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(0).elements()} * kScoreGradFlops;
          }};
}

}  // namespace nadi::inline describe
