#include "nadi/graph/ops/cross_entropy.h"

#include "nadi/base/format.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi {
namespace {

enum Input { kLogits, kTargets, kCount, kStatistics, kGradient };

constexpr std::int64_t kFlops = 4;      // maximum, subtract, exp, sum
constexpr std::int64_t kGradFlops = 4;  // subtract, exp, subtract the target's 1, multiply

void check_operands(const OpView& op) {
  const Shape& logits = op.in(kLogits);
  op.require(logits.rank() >= 1 && op.in(kTargets) == logits.slice(0, logits.rank() - 1),
             "targets must have one number per row of logits");
  op.require(op.in(kCount) == Shape{}, "the count must be a scalar");
  const std::int64_t vocabulary = op.attributes().integer("vocabulary");
  op.require(vocabulary >= 1 && vocabulary <= logits[-1],
             format("a vocabulary of {} does not fit {} columns", vocabulary, logits[-1]));
}

std::vector<OutputSpec> infer(const OpView& op) {
  check_operands(op);
  return {{Shape{}, DType::kF32}, {op.in(kTargets), DType::kF32}};
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  check_operands(op);
  return {{op.in(kLogits), op.input(kLogits).dtype}};
}

void gradient(GradientRule& rule) {
  rule.emit({.kind = OpKind::kCrossEntropyGrad,
             .inputs = {rule.input(kLogits), rule.input(kTargets), rule.input(kCount), rule.output(1),
                        rule.gradient(0)},
             .attributes = rule.attributes()},
            {kLogits});
}

}  // namespace

TensorId cross_entropy(GraphBuilder& builder, const CrossEntropyArgs& args) {
  const std::int64_t columns = builder.shape(args.logits)[-1];
  return builder.add_one({.kind = OpKind::kCrossEntropy,
                          .inputs = {args.logits, args.targets, args.count},
                          .attributes = {{"vocabulary", args.vocabulary > 0 ? args.vocabulary : columns}},
                          .into = {args.into}});
}

OpDefinition cross_entropy_definition() {
  return {.kind = OpKind::kCrossEntropy,
          .name = "cross_entropy",
          .attributes = {{"vocabulary", std::int64_t{0}}},
          .inputs = {"logits", "targets", "count"},
          .infer = infer,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(kLogits).elements()} * kFlops; },
          .saves =
              [](const OpView&) {
                return Saved{.inputs = bit(kLogits) | bit(kTargets) | bit(kCount), .outputs = bit(1)};
              },
          .gradient = gradient};
}

OpDefinition cross_entropy_grad_definition() {
  return {.kind = OpKind::kCrossEntropyGrad,
          .name = "cross_entropy_grad",
          .attributes = {{"vocabulary", std::int64_t{0}}},
          .inputs = {"logits", "targets", "count", "statistics", "dloss"},
          .infer = infer_grad,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(kLogits).elements()} * kGradFlops; },
          .in_place_input = kLogits};
}

}  // namespace nadi
