#include "nadi/graph/ops/grouped_matmul.h"

#include <algorithm>

#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

bool transposed(const OpView& op) {
  return op.attributes().boolean("transpose_b");
}

void check_counts(const OpView& op, std::size_t input, std::int64_t experts) {
  op.require(op.input(input).dtype == DType::kI32 && op.in(input) == Shape{experts},
             "counts must be i32 with a number for every expert");
}

std::vector<OutputSpec> infer(const OpView& op) {
  using namespace grouped_matmul_input;
  const Shape &a = op.in(kA), &b = op.in(kB);
  op.require(a.rank() == 2 && b.rank() == 3, "takes rows [R, K] and weights [E, K, N]");
  op.require(op.input(kA).dtype == op.input(kB).dtype, "operands differ in element type");
  op.require(a[1] == (transposed(op) ? b[2] : b[1]), "inner extents differ");
  check_counts(op, kCounts, b[0]);
  return {{Shape{a[0], transposed(op) ? b[1] : b[2]}, op.input(kA).dtype}};
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  using namespace grouped_matmul_grad_input;
  const Shape &a = op.in(kA), &dy = op.in(kGradient);
  op.require(a.rank() == 2 && dy.rank() == 2 && a[0] == dy[0], "rows and their gradient differ in number");
  op.require(op.input(kA).dtype == op.input(kGradient).dtype, "operands differ in element type");
  const std::int64_t experts = op.in(kCounts).elements();
  check_counts(op, kCounts, experts);
  return {{transposed(op) ? Shape{experts, dy[1], a[1]} : Shape{experts, a[1], dy[1]}, op.input(kA).dtype}};
}

Bytes rows_of(const OpView& op, const Tensor& tensor) {
  return Bytes{size_of(tensor.dtype)} * (op.attributes().integer("rows_in_use") * tensor.shape[-1]);
}

void cost(const OpView& op, const CostContext&, OpCost& cost) {
  using namespace grouped_matmul_input;
  const std::int64_t rows = op.attributes().integer("rows_in_use");
  cost.matrix += Flops{2} * rows * op.in(kA)[1] * op.output(0).shape[1];
  cost.read = rows_of(op, op.input(kA)) + op.input(kB).size() + op.input(kCounts).size();
  cost.written = rows_of(op, op.output(0));
}

void cost_grad(const OpView& op, const CostContext&, OpCost& cost) {
  using namespace grouped_matmul_grad_input;
  const std::int64_t rows = op.attributes().integer("rows_in_use");
  cost.matrix += Flops{2} * rows * op.in(kA)[1] * op.in(kGradient)[1];
  cost.read -= op.input(kA).size() + op.input(kGradient).size();
  cost.read += rows_of(op, op.input(kA)) + rows_of(op, op.input(kGradient));
}

void gradient(GradientRule& rule) {
  using namespace grouped_matmul_input;
  const Attributes& attributes = rule.attributes();
  const AttributeValue rows = attributes.integer("rows_in_use");
  const bool transpose = attributes.boolean("transpose_b");
  const TensorId dy = rule.gradient(0);
  if (rule.wants(kA))
    rule.emit({.kind = OpKind::kGroupedMatmul,
               .inputs = {dy, rule.input(kB), rule.input(kCounts)},
               .attributes = {{"transpose_b", !transpose}, {"rows_in_use", rows}},
               .label = "grouped_matmul.grad_a"},
              {kA});
  if (rule.wants(kB))
    rule.emit({.kind = OpKind::kGroupedMatmulGrad,
               .inputs = {rule.input(kA), dy, rule.input(kCounts)},
               .attributes = attributes,
               .label = "grouped_matmul.grad_b"},
              {kB});
}

}  // namespace

TensorId grouped_matmul(GraphBuilder& builder, const GroupedMatmulArgs& args) {
  return builder.add_one(
      {.kind = OpKind::kGroupedMatmul,
       .inputs = {args.a, args.b, args.counts},
       .attributes = {{"transpose_b", args.transpose_b}, {"rows_in_use", args.rows_in_use}}});
}

MatmulExtents grouped_matmul_extents(const OpView& op) {
  const bool gradient = op.op.kind == OpKind::kGroupedMatmulGrad;
  const std::size_t counts =
      gradient ? std::size_t{grouped_matmul_grad_input::kCounts} : std::size_t{grouped_matmul_input::kCounts};
  const std::int64_t experts = op.in(counts).elements();
  const std::int64_t rows = std::max<std::int64_t>(op.attributes().integer("rows_in_use") / experts, 1);
  if (!gradient) return {.batches = experts, .m = rows, .n = op.output(0).shape[1], .k = op.in(0)[1]};
  const Shape& result = op.output(0).shape;
  return {.batches = experts, .m = result[1], .n = result[2], .k = rows};
}

bool multiplies_weights(const Op& op) {
  return (op.kind == OpKind::kMatmul && op.attributes.integer("batch_axes") == 0) ||
         op.kind == OpKind::kGroupedMatmul || op.kind == OpKind::kGroupedMatmulGrad;
}

OpDefinition grouped_matmul_definition() {
  return {.kind = OpKind::kGroupedMatmul,
          .name = "grouped_matmul",
          .work = WorkKind::kMatrixProduct,
          .attributes = {{"transpose_b", false}, {"rows_in_use", std::int64_t{0}}},
          .inputs = {"a", "b", "counts"},
          .infer = infer,
          .cost = cost,
          .saves =
              [](const OpView&) {
                using namespace grouped_matmul_input;
                return Saved{.inputs = bit(kA) | bit(kB) | bit(kCounts)};
              },
          .gradient = gradient};
}

OpDefinition grouped_matmul_grad_definition() {
  return {.kind = OpKind::kGroupedMatmulGrad,
          .name = "grouped_matmul_grad",
          .work = WorkKind::kMatrixProduct,
          .attributes = {{"transpose_b", false}, {"rows_in_use", std::int64_t{0}}},
          .inputs = {"a", "dy", "counts"},
          .infer = infer_grad,
          .cost = cost_grad};
}

}  // namespace nadi::inline describe
