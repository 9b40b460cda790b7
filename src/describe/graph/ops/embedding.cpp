#include "nadi/graph/ops/embedding.h"

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<OutputSpec> infer(const OpView& op) {
  op.require(!is_floating(op.input(0).dtype), "ids must be integers");
  op.require(op.in(1).rank() == 2, "the table must be [rows, width]");
  return {{op.in(0).append(op.in(1)[1]), op.input(1).dtype}};
}

// Only the rows that are looked up are read.
void cost(const OpView& op, const CostContext&, OpCost& cost) {
  cost.read = op.input(0).size() + op.output(0).size();
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  const std::int64_t width = op.in(1)[-1];
  op.require(op.in(0).append(width) == op.in(1), "ids and gradient differ in shape");
  return {{Shape{op.attributes().integer("rows"), width}, op.input(1).dtype}};
}

// When it adds to a table that is there, only the rows named are touched.
void cost_grad(const OpView& op, const CostContext&, OpCost& cost) {
  const Bytes rows = Bytes{size_of(op.output(0).dtype)} * op.in(1).elements();
  cost.read = op.input(0).size() + op.input(1).size() + rows;
  cost.vector = Flops{op.in(1).elements()};
  if (op.op.outputs[0].accumulate) cost.written = rows;
}

}  // namespace

TensorId embedding(GraphBuilder& builder, TensorId ids, TensorId table, TensorId place) {
  return builder.add_one({.kind = OpKind::kEmbedding, .inputs = {ids, table, place}});
}

OpDefinition embedding_definition() {
  return {.kind = OpKind::kEmbedding,
          .name = "embedding",
          .inputs = {"ids", "table", "place?"},
          .infer = infer,
          .cost = cost,
          .saves = [](const OpView&) { return Saved{.inputs = bit(0) | bit(2)}; },
          .gradient =
              [](GradientRule& rule) {
                rule.emit({.kind = OpKind::kEmbeddingGrad,
                           .inputs = {rule.input(0), rule.gradient(0), rule.input(2)},
                           .attributes = {{"rows", rule.input_shape(1)[0]}}},
                          {1});
              }};
}

OpDefinition embedding_grad_definition() {
  return {.kind = OpKind::kEmbeddingGrad,
          .name = "embedding_grad",
          .attributes = {{"rows", std::int64_t{0}}},
          .inputs = {"ids", "dy", "place?"},
          .infer = infer_grad,
          .cost = cost_grad};
}

}  // namespace nadi::inline describe
