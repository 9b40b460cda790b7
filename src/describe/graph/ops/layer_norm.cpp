#include "nadi/graph/ops/layer_norm.h"

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kFlops = 7;  // sum, subtract, square, sum, * 1/deviation, * weight, + bias
// x-hat (2), dy * weight (1), its two row sums (3), combining them into dx (5), d weight (2), d bias (1)
constexpr std::int64_t kGradFlops = 14;

std::vector<OutputSpec> infer(const OpView& op) {
  const Shape& x = op.in(0);
  op.require(x.rank() >= 1 && op.in(1) == Shape{x[-1]} && op.in(2) == Shape{x[-1]},
             "weight and bias must have the extent of x's last axis");
  const Shape rows = x.slice(0, x.rank() - 1);
  return {{x, op.input(0).dtype}, {rows, DType::kF32}, {rows, DType::kF32}};
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  op.require(op.in(0) == op.in(4), "x and the gradient differ in shape");
  return {{op.in(0), op.input(4).dtype}, {op.in(1), DType::kF32}, {op.in(1), DType::kF32}};
}

}  // namespace

TensorId layer_norm(GraphBuilder& builder, const LayerNormArgs& args) {
  return builder.add_one({.kind = OpKind::kLayerNorm,
                          .inputs = {args.x, args.weight, args.bias},
                          .attributes = {{"epsilon", args.epsilon}}});
}

OpDefinition layer_norm_definition() {
  return {.kind = OpKind::kLayerNorm,
          .name = "layer_norm",
          .attributes = {{"epsilon", 1e-5}},
          .inputs = {"x", "weight", "bias"},
          .infer = infer,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * kFlops; },
          .saves = [](const OpView&) { return Saved{.inputs = bit(0) | bit(1), .outputs = bit(1) | bit(2)}; },
          .gradient =
              [](GradientRule& rule) {
                rule.emit({.kind = OpKind::kLayerNormGrad,
                           .inputs = {rule.input(0), rule.input(1), rule.output(1), rule.output(2),
                                      rule.gradient(0)}},
                          {0, 1, 2});
              }};
}

OpDefinition layer_norm_grad_definition() {
  return {.kind = OpKind::kLayerNormGrad,
          .name = "layer_norm_grad",
          .inputs = {"x", "weight", "mean", "reciprocal_deviation", "dy"},
          .infer = infer_grad,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * kGradFlops; },
          .in_place_input = 4};
}

}  // namespace nadi::inline describe
