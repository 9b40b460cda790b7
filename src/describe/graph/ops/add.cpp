#include "nadi/graph/ops/add.h"

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<OutputSpec> infer(const OpView& op) {
  const Shape& a = op.in(0);
  const Shape& b = op.in(1);
  op.require(b.rank() <= a.rank() && a.slice(a.rank() - b.rank(), a.rank()) == b,
             "b must have the shape of a, or of a's trailing axes");
  return {{a, op.input(0).dtype}};
}

void gradient(GradientRule& rule) {
  rule.pass(0, rule.gradient(0));
  if (rule.input_shape(0) == rule.input_shape(1))
    rule.pass(1, rule.gradient(0));
  else if (rule.wants(1))
    rule.emit({.kind = OpKind::kSumRows,
               .inputs = {rule.gradient(0)},
               .attributes = {{"kept_axes", std::int64_t{rule.input_shape(1).rank()}}}},
              {1});
}

// y[...] = sum of x over all axes but the last `kept_axes`.
std::vector<OutputSpec> infer_sum_rows(const OpView& op) {
  const std::int64_t kept = op.attributes().integer("kept_axes");
  const Shape& x = op.in(0);
  op.require(kept >= 0 && kept <= x.rank(), "keeps more axes than there are");
  return {{x.slice(x.rank() - static_cast<int>(kept), x.rank()), op.input(0).dtype}};
}

}  // namespace

TensorId add(GraphBuilder& builder, TensorId a, TensorId b) {
  return builder.add_one({.kind = OpKind::kAdd, .inputs = {a, b}});
}

OpDefinition add_definition() {
  return {.kind = OpKind::kAdd,
          .name = "add",
          .work = WorkKind::kElementwise,
          .inputs = {"a", "b"},
          .infer = infer,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()}; },
          .saves = [](const OpView&) { return Saved{}; },
          .gradient = gradient,
          .in_place_input = 0};
}

OpDefinition sum_rows_definition() {
  return {.kind = OpKind::kSumRows,
          .name = "sum_rows",
          .work = WorkKind::kReduction,
          .attributes = {{"kept_axes", std::int64_t{1}}},
          .inputs = {"x"},
          .infer = infer_sum_rows,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(0).elements()};
          }};
}

}  // namespace nadi::inline describe
