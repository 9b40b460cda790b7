#include "nadi/graph/ops/softmax.h"

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kFlops = 5;      // maximum, subtract, exp, sum, divide
constexpr std::int64_t kGradFlops = 4;  // y * dy, sum, subtract, * y

std::vector<OutputSpec> infer(const OpView& op) {
  op.require(op.in(0).rank() == 4, "scores must be [B, H, T, S]");
  if (op.has(1)) op.require(op.in(1) == Shape{op.in(0)[0]}, "lengths must be [B]");
  return {{op.in(0), op.input(0).dtype}};
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  op.require(op.in(0) == op.in(1), "y and its gradient differ in shape");
  return {{op.in(0), op.input(1).dtype}};
}

}  // namespace

TensorId softmax(GraphBuilder& builder, const SoftmaxArgs& args) {
  return builder.add_one(
      {.kind = OpKind::kSoftmax, .inputs = {args.x, args.lengths}, .attributes = {{"causal", args.causal}}});
}

OpDefinition softmax_definition() {
  return {.kind = OpKind::kSoftmax,
          .name = "softmax",
          .attributes = {{"causal", false}},
          .inputs = {"x", "lengths?"},
          .infer = infer,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * kFlops; },
          .saves = [](const OpView&) { return Saved{.outputs = bit(0)}; },
          .gradient =
              [](GradientRule& rule) {
                // Masked places have y = 0, hence no gradient: the rule needs no mask.
                rule.emit({.kind = OpKind::kSoftmaxGrad, .inputs = {rule.output(0), rule.gradient(0)}}, {0});
              },
          .in_place_input = 0};
}

OpDefinition softmax_grad_definition() {
  return {.kind = OpKind::kSoftmaxGrad,
          .name = "softmax_grad",
          .inputs = {"y", "dy"},
          .infer = infer_grad,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * kGradFlops; },
          .in_place_input = 1};
}

}  // namespace nadi::inline describe
