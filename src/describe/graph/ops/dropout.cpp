#include "nadi/graph/ops/dropout.h"

#include "nadi/base/random.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<OutputSpec> infer(const OpView& op) {
  const double rate = op.attributes().real("rate");
  op.require(rate >= 0 && rate < 1, "the rate must be at least 0 and below 1");
  op.require(op.in(1) == Shape{3}, "the random key must be [3]");
  if (op.has(2))
    op.require(
        op.in(0).rank() >= 2 && op.in(2) == Shape{op.in(0)[1]} && op.attributes().integer("whole_rows") >= 1,
        "rows must have the extent of the second axis");
  return {{op.in(0), op.input(0).dtype}};
}

// The op is linear and its own transpose.
void gradient(GradientRule& rule) {
  rule.emit({.kind = OpKind::kDropout,
             .inputs = {rule.gradient(0), rule.input(1), rule.input(2)},
             .attributes = rule.attributes()},
            {0});
}

}  // namespace

std::int64_t dropout_site(const GraphBuilder& builder, std::string_view purpose) {
  return static_cast<std::int64_t>(site_of(builder.layer() + "/" + std::string(purpose)));
}

TensorId random_input(GraphBuilder& builder) {
  if (const auto found = builder.graph().find_tensor("random")) return *found;
  return builder.input("random", Shape{3}, DType::kI64);
}

TensorId dropout(GraphBuilder& builder, const DropoutArgs& args) {
  if (args.rate == 0) return args.x;
  return builder.add_one({.kind = OpKind::kDropout,
                          .inputs = {args.x, args.random, args.rows},
                          .attributes = {{"rate", args.rate},
                                         {"site", dropout_site(builder, args.purpose)},
                                         {"whole_rows", args.whole_rows}}});
}

OpDefinition dropout_definition() {
  return {.kind = OpKind::kDropout,
          .name = "dropout",
          .attributes = {{"rate", 0.0}, {"site", std::int64_t{0}}, {"whole_rows", std::int64_t{0}}},
          .inputs = {"x", "random", "rows?"},
          .infer = infer,
          // Compare and multiply; making the number is not arithmetic on the data.
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * 2; },
          .saves = [](const OpView&) { return Saved{.inputs = bit(1) | bit(2)}; },
          .gradient = gradient,
          .in_place_input = 0};
}

}  // namespace nadi::inline describe
