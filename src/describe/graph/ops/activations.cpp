#include "nadi/graph/ops/activations.h"

#include "nadi/base/error.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

// Beyond the value itself, its derivative takes the density (erf: 4 operations) or the derivative of the
// inner polynomial and of tanh (9), and the product with the incoming gradient.
std::int64_t gelu_grad_flops(Activation form) {
  return gelu_flops(form) + (form == Activation::kGeluTanh ? 9 : 4) + 1;
}

std::vector<OutputSpec> infer(const OpView& op) {
  activation_named(op.attributes().text("form"));
  return {{op.in(0), op.input(0).dtype}};
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  op.require(op.in(0) == op.in(1), "x and its gradient differ in shape");
  return {{op.in(0), op.input(1).dtype}};
}

void gradient(GradientRule& rule) {
  rule.emit({.kind = OpKind::kGeluGrad,
             .inputs = {rule.input(0), rule.gradient(0)},
             .attributes = {{"form", rule.attributes().text("form")}}},
            {0});
}

}  // namespace

std::int64_t gelu_flops(Activation form) {
  switch (form) {
    case Activation::kNone:
      return 0;
    case Activation::kGeluTanh:
      return 9;  // x*x, *x, *c, +x, *d, tanh, +1, *0.5, *x
    case Activation::kGeluErf:
      return 5;  // /sqrt 2, erf, +1, *0.5, *x
  }
  unreachable();
}

TensorId gelu(GraphBuilder& builder, TensorId x, Activation form) {
  return builder.add_one(
      {.kind = OpKind::kGelu, .inputs = {x}, .attributes = {{"form", std::string(to_string(form))}}});
}

OpDefinition gelu_definition() {
  return {.kind = OpKind::kGelu,
          .name = "gelu",
          .attributes = {{"form", std::string("gelu_tanh")}},
          .inputs = {"x"},
          .infer = infer,
          .cost =
              [](const OpView& op, const CostContext&, OpCost& cost) {
                cost.vector +=
                    Flops{op.in(0).elements()} * gelu_flops(activation_named(op.attributes().text("form")));
              },
          .saves = [](const OpView&) { return Saved{.inputs = bit(0)}; },
          .gradient = gradient,
          .in_place_input = 0};
}

OpDefinition gelu_grad_definition() {
  return {.kind = OpKind::kGeluGrad,
          .name = "gelu_grad",
          .attributes = {{"form", std::string("gelu_tanh")}},
          .inputs = {"x", "dy"},
          .infer = infer_grad,
          .cost =
              [](const OpView& op, const CostContext&, OpCost& cost) {
                cost.vector += Flops{op.in(0).elements()} *
                               gelu_grad_flops(activation_named(op.attributes().text("form")));
              },
          .in_place_input = 1};
}

}  // namespace nadi::inline describe
