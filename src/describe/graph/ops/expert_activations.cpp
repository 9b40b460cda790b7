#include "nadi/graph/ops/expert_activations.h"

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kSwigluFlops = 7;  // negate, exp, +1, divide, * gate, * up, * weight
constexpr std::int64_t kSwigluGradFlops =
    16;                                     // as without weights 12; * weight twice, multiply and add for it
constexpr std::int64_t kGateFlops = 1;      // per element; the sigmoid is one of a row
constexpr std::int64_t kGateGradFlops = 3;  // * gate; multiply and add for its gradient
constexpr std::int64_t kSigmoidFlops = 4;   // negate, exp, +1, divide

void check_swiglu(const OpView& op) {
  using namespace weighted_swiglu_input;
  op.require(op.in(kGate).rank() == 2 && op.in(kGate) == op.in(kUp), "gate and up differ in shape");
  op.require(op.in(kWeights) == Shape{op.in(kGate)[0], 1} && op.input(kWeights).dtype == DType::kF32,
             "weights must be f32 [rows, 1]");
  op.require(op.input(kCounts).dtype == DType::kI32, "counts must be i32");
}

std::vector<OutputSpec> infer_swiglu(const OpView& op) {
  check_swiglu(op);
  return {{op.in(0), op.input(0).dtype}};
}

std::vector<OutputSpec> infer_swiglu_grad(const OpView& op) {
  using namespace weighted_swiglu_input;
  check_swiglu(op);
  op.require(op.in(kGradient) == op.in(kGate), "gate and the gradient differ in shape");
  const DType dtype = op.input(kGradient).dtype;
  return {{op.in(kGate), dtype}, {op.in(kUp), dtype}, {op.in(kWeights), DType::kF32}};
}

// Of the rows in use: `tensors` of their size are moved.
Bytes moved_rows(const OpView& op, std::int64_t tensors) {
  return Bytes{size_of(op.input(0).dtype)} * (tensors * op.attributes().integer("rows_in_use") * op.in(0)[1]);
}

std::int64_t elements_in_use(const OpView& op) {
  return op.attributes().integer("rows_in_use") * op.in(0)[1];
}

void check_gate(const OpView& op) {
  const Shape& y = op.in(0);
  op.require(y.rank() >= 1 && op.in(1) == y.slice(0, y.rank() - 1).append(1), "gates must be [..., 1]");
}

std::vector<OutputSpec> infer_gate(const OpView& op) {
  check_gate(op);
  return {{op.in(0), op.input(0).dtype}};
}

std::vector<OutputSpec> infer_gate_grad(const OpView& op) {
  check_gate(op);
  op.require(op.in(2) == op.in(0), "y and its gradient differ in shape");
  return {{op.in(0), op.input(2).dtype}, {op.in(1), op.input(1).dtype}};
}

}  // namespace

TensorId weighted_swiglu(GraphBuilder& builder, const WeightedSwigluArgs& args) {
  return builder.add_one({.kind = OpKind::kWeightedSwiglu,
                          .inputs = {args.gate, args.up, args.weights, args.counts},
                          .attributes = {{"rows_in_use", args.rows_in_use}}});
}

TensorId sigmoid_gate(GraphBuilder& builder, TensorId y, TensorId gate) {
  return builder.add_one({.kind = OpKind::kSigmoidGate, .inputs = {y, gate}});
}

OpDefinition weighted_swiglu_definition() {
  return {.kind = OpKind::kWeightedSwiglu,
          .name = "weighted_swiglu",
          .work = WorkKind::kElementwise,
          .attributes = {{"rows_in_use", std::int64_t{0}}},
          .inputs = {"gate", "up", "weights", "counts"},
          .infer = infer_swiglu,
          .cost =
              [](const OpView& op, const CostContext&, OpCost& cost) {
                cost.vector += Flops{elements_in_use(op)} * kSwigluFlops;
                cost.read = moved_rows(op, 2);
                cost.written = moved_rows(op, 1);
              },
          .saves =
              [](const OpView&) {
                using namespace weighted_swiglu_input;
                return Saved{.inputs = bit(kGate) | bit(kUp) | bit(kWeights) | bit(kCounts)};
              },
          .gradient =
              [](GradientRule& rule) {
                using namespace weighted_swiglu_input;
                rule.emit({.kind = OpKind::kWeightedSwigluGrad,
                           .inputs = {rule.input(kGate), rule.input(kUp), rule.input(kWeights),
                                      rule.input(kCounts), rule.gradient(0)},
                           .attributes = rule.attributes()},
                          {kGate, kUp, kWeights});
              }};
}

OpDefinition weighted_swiglu_grad_definition() {
  return {.kind = OpKind::kWeightedSwigluGrad,
          .name = "weighted_swiglu_grad",
          .work = WorkKind::kElementwise,
          .attributes = {{"rows_in_use", std::int64_t{0}}},
          .inputs = {"gate", "up", "weights", "counts", "dy"},
          .infer = infer_swiglu_grad,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{elements_in_use(op)} * kSwigluGradFlops;
            cost.read = moved_rows(op, 3);
            cost.written = moved_rows(op, 2);
          }};
}

OpDefinition sigmoid_gate_definition() {
  return {.kind = OpKind::kSigmoidGate,
          .name = "sigmoid_gate",
          .work = WorkKind::kElementwise,
          .inputs = {"y", "gate"},
          .infer = infer_gate,
          .cost =
              [](const OpView& op, const CostContext&, OpCost& cost) {
                cost.vector +=
                    Flops{op.in(0).elements()} * kGateFlops + Flops{op.in(1).elements()} * kSigmoidFlops;
              },
          .saves = [](const OpView&) { return Saved{.inputs = bit(0) | bit(1)}; },
          .gradient =
              [](GradientRule& rule) {
                rule.emit({.kind = OpKind::kSigmoidGateGrad,
                           .inputs = {rule.input(0), rule.input(1), rule.gradient(0)}},
                          {0, 1});
              }};
}

OpDefinition sigmoid_gate_grad_definition() {
  return {.kind = OpKind::kSigmoidGateGrad,
          .name = "sigmoid_gate_grad",
          .work = WorkKind::kElementwise,
          .inputs = {"y", "gate", "dy"},
          .infer = infer_gate_grad,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector +=
                Flops{op.in(0).elements()} * kGateGradFlops + Flops{op.in(1).elements()} * kSigmoidFlops;
          }};
}

}  // namespace nadi::inline describe
