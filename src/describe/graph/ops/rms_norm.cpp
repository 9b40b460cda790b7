#include "nadi/graph/ops/rms_norm.h"

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kFlops = 4;       // square, sum, * 1/root, * weight
constexpr std::int64_t kGradFlops = 10;  // x-hat, dy * weight, row sum (2), combining (4), d weight (2)

std::vector<OutputSpec> infer(const OpView& op) {
  const Shape& x = op.in(0);
  op.require(x.rank() >= 1 && op.in(1) == Shape{x[-1]}, "weight must have the extent of x's last axis");
  return {{x, op.input(0).dtype}, {x.slice(0, x.rank() - 1), DType::kF32}};
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  op.require(op.in(0) == op.in(3), "x and the gradient differ in shape");
  return {{op.in(0), op.input(3).dtype}, {op.in(1), DType::kF32}};
}

}  // namespace

TensorId rms_norm(GraphBuilder& builder, const RmsNormArgs& args) {
  return builder.add_one(
      {.kind = OpKind::kRmsNorm, .inputs = {args.x, args.weight}, .attributes = {{"epsilon", args.epsilon}}});
}

OpDefinition rms_norm_definition() {
  return {.kind = OpKind::kRmsNorm,
          .name = "rms_norm",
          .attributes = {{"epsilon", 1e-5}},
          .inputs = {"x", "weight"},
          .infer = infer,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * kFlops; },
          .saves = [](const OpView&) { return Saved{.inputs = bit(0) | bit(1), .outputs = bit(1)}; },
          .gradient =
              [](GradientRule& rule) {
                rule.emit({.kind = OpKind::kRmsNormGrad,
                           .inputs = {rule.input(0), rule.input(1), rule.output(1), rule.gradient(0)}},
                          {0, 1});
              }};
}

OpDefinition rms_norm_grad_definition() {
  return {.kind = OpKind::kRmsNormGrad,
          .name = "rms_norm_grad",
          .inputs = {"x", "weight", "reciprocal_root", "dy"},
          .infer = infer_grad,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * kGradFlops; },
          .in_place_input = 3};
}

}  // namespace nadi::inline describe
