#include "nadi/graph/ops/repeat_heads.h"

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<OutputSpec> infer(const OpView& op) {
  const std::int64_t times = op.attributes().integer("times");
  op.require(op.in(0).rank() == 4 && times >= 1, "takes [B, K, S, D] and a positive number of times");
  Shape y = op.in(0);
  y.set(1, y[1] * times);
  return {{y, op.input(0).dtype}};
}

std::vector<OutputSpec> infer_sum(const OpView& op) {
  const std::int64_t times = op.attributes().integer("times");
  op.require(op.in(0).rank() == 4 && times >= 1 && op.in(0)[1] % times == 0,
             "heads must be a multiple of times");
  Shape y = op.in(0);
  y.set(1, y[1] / times);
  return {{y, op.input(0).dtype}};
}

}  // namespace

TensorId repeat_heads(GraphBuilder& builder, TensorId x, std::int64_t times) {
  return builder.add_one({.kind = OpKind::kRepeatHeads, .inputs = {x}, .attributes = {{"times", times}}});
}

OpDefinition repeat_heads_definition() {
  return {.kind = OpKind::kRepeatHeads,
          .name = "repeat_heads",
          .work = WorkKind::kCopy,
          .attributes = {{"times", std::int64_t{1}}},
          .inputs = {"x"},
          .infer = infer,
          .saves = [](const OpView&) { return Saved{}; },
          .gradient =
              [](GradientRule& rule) {
                rule.emit({.kind = OpKind::kSumHeadGroups,
                           .inputs = {rule.gradient(0)},
                           .attributes = {{"times", rule.attributes().integer("times")}}},
                          {0});
              }};
}

OpDefinition sum_head_groups_definition() {
  return {.kind = OpKind::kSumHeadGroups,
          .name = "sum_head_groups",
          .work = WorkKind::kReduction,
          .attributes = {{"times", std::int64_t{1}}},
          .inputs = {"x"},
          .infer = infer_sum,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(0).elements()};
          }};
}

}  // namespace nadi::inline describe
