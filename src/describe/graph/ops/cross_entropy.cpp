#include "nadi/graph/ops/cross_entropy.h"

#include "nadi/base/format.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/collectives.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

using namespace cross_entropy_input;

constexpr std::int64_t kFlops = 4;      // maximum, subtract, exp, sum
constexpr std::int64_t kGradFlops = 4;  // subtract, exp, subtract the target's 1, multiply

void check_operands(const OpView& op) {
  const Shape& logits = op.in(kLogits);
  op.require(logits.rank() >= 1 && op.in(kTargets) == logits.slice(0, logits.rank() - 1),
             "targets must have one number per row of logits");
  op.require(op.in(kCount) == Shape{}, "the count must be a scalar");
  const std::int64_t vocabulary = op.attributes().integer("vocabulary");
  const bool split = op.op.kind == OpKind::kShardedCrossEntropy || op.has(kPlace);
  if (!(vocabulary >= 1 && (split || vocabulary <= logits[-1])))
    op.refuse(format("a vocabulary of {} does not fit {} columns", vocabulary, logits[-1]));
}

std::vector<OutputSpec> infer(const OpView& op) {
  check_operands(op);
  return {{Shape{}, DType::kF32}, {op.in(kTargets), DType::kF32}};
}

std::vector<OutputSpec> infer_vocab_max(const OpView& op) {
  const Shape& logits = op.in(0);
  op.require(logits.rank() >= 1 && op.in(1) == Shape{1}, "takes logits [..., V] and a place [1]");
  return {{logits.slice(0, logits.rank() - 1), DType::kF32}};
}

// [2, ...]: the sum of exponentials less the maximum, and the target's logit less the maximum.
std::vector<OutputSpec> infer_vocab_sums(const OpView& op) {
  const Shape& targets = op.in(1);
  op.require(op.in(2) == targets && op.in(3) == Shape{1}, "maximum must have one number per row, place [1]");
  Integers extents{2};
  extents.insert(extents.end(), targets.extents().begin(), targets.extents().end());
  return {{Shape(extents), DType::kF32}};
}

void sharded_gradient(GradientRule& rule) {
  // Given the statistics of whole rows, each rank has the gradient of its own columns.
  rule.emit({.kind = OpKind::kCrossEntropyGrad,
             .inputs = {rule.input(kLogits), rule.input(kTargets), rule.input(kCount), rule.output(1),
                        rule.gradient(0), rule.input(sharded_cross_entropy_input::kPlace)},
             .attributes = rule.attributes()},
            {kLogits});
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

TensorId sharded_cross_entropy(GraphBuilder& builder, const ShardedCrossEntropyArgs& args) {
  const Attributes vocabulary{{"vocabulary", args.whole.vocabulary}};
  const GroupArgs group{args.group, args.group_size};
  const TensorId own_maximum = builder.add_one(
      {.kind = OpKind::kVocabMax, .inputs = {args.whole.logits, args.place}, .attributes = vocabulary});
  const TensorId maximum = all_reduce(builder, {.x = own_maximum, .group = group, .op = ReduceOp::kMaximum});
  const TensorId own_sums =
      builder.add_one({.kind = OpKind::kVocabSums,
                       .inputs = {args.whole.logits, args.whole.targets, maximum, args.place},
                       .attributes = vocabulary});
  const TensorId sums = all_reduce(builder, {.x = own_sums, .group = group});
  return builder.add_one(
      {.kind = OpKind::kShardedCrossEntropy,
       .inputs = {args.whole.logits, args.whole.targets, args.whole.count, maximum, sums, args.place},
       .attributes = vocabulary,
       .into = {args.whole.into}});
}

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
          .inputs = {"logits", "targets", "count", "statistics", "dloss", "place?"},
          .infer = infer_grad,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(kLogits).elements()} * kGradFlops; },
          .in_place_input = kLogits};
}

OpDefinition vocab_max_definition() {
  return {.kind = OpKind::kVocabMax,
          .name = "vocab_max",
          .work = WorkKind::kSoftmax,
          .attributes = {{"vocabulary", std::int64_t{0}}},
          .inputs = {"logits", "place"},
          .infer = infer_vocab_max,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(0).elements()};
          }};
}

OpDefinition vocab_sums_definition() {
  return {.kind = OpKind::kVocabSums,
          .name = "vocab_sums",
          .work = WorkKind::kSoftmax,
          .attributes = {{"vocabulary", std::int64_t{0}}},
          .inputs = {"logits", "targets", "maximum", "place"},
          .infer = infer_vocab_sums,
          // Subtract, exp, sum: with the maximum that is what the unsplit op takes.
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(0).elements()} * 3;
          }};
}

OpDefinition sharded_cross_entropy_definition() {
  return {.kind = OpKind::kShardedCrossEntropy,
          .name = "sharded_cross_entropy",
          .attributes = {{"vocabulary", std::int64_t{0}}},
          .inputs = {"logits", "targets", "count", "maximum", "sums", "place"},
          .infer = infer,
          // The logits are there for the gradient only.
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.read -= op.input(kLogits).size(); },
          .saves =
              [](const OpView&) {
                return Saved{.inputs = bit(kLogits) | bit(kTargets) | bit(kCount) |
                                       bit(sharded_cross_entropy_input::kPlace),
                             .outputs = bit(1)};
              },
          .gradient = sharded_gradient};
}

}  // namespace nadi::inline describe
