#include "nadi/graph/ops/swiglu.h"

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kFlops = 6;  // negate, exp, +1, divide, * gate, * up
constexpr std::int64_t kGradFlops =
    12;  // sigmoid (4), silu, its derivative (4), two products for gate, one for up

std::vector<OutputSpec> infer(const OpView& op) {
  op.require(op.in(0) == op.in(1), "gate and up differ in shape");
  return {{op.in(0), op.input(0).dtype}};
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  op.require(op.in(0) == op.in(1) && op.in(0) == op.in(2), "gate, up and the gradient differ in shape");
  return {{op.in(0), op.input(2).dtype}, {op.in(1), op.input(2).dtype}};
}

}  // namespace

TensorId swiglu(GraphBuilder& builder, TensorId gate, TensorId up) {
  return builder.add_one({.kind = OpKind::kSwiglu, .inputs = {gate, up}});
}

OpDefinition swiglu_definition() {
  return {.kind = OpKind::kSwiglu,
          .name = "swiglu",
          .work = WorkKind::kElementwise,
          .inputs = {"gate", "up"},
          .infer = infer,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * kFlops; },
          .saves = [](const OpView&) { return Saved{.inputs = bit(0) | bit(1)}; },
          .gradient =
              [](GradientRule& rule) {
                rule.emit(
                    {.kind = OpKind::kSwigluGrad, .inputs = {rule.input(0), rule.input(1), rule.gradient(0)}},
                    {0, 1});
              },
          .in_place_input = 0};
}

OpDefinition swiglu_grad_definition() {
  return {.kind = OpKind::kSwigluGrad,
          .name = "swiglu_grad",
          .work = WorkKind::kElementwise,
          .inputs = {"gate", "up", "dy"},
          .infer = infer_grad,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * kGradFlops; },
          .in_place_input = 2};
}

}  // namespace nadi::inline describe
