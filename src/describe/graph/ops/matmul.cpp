#include "nadi/graph/ops/matmul.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/activations.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

enum Input { kA, kB, kBias, kAScale, kBScale };

struct Matrix {
  std::int64_t batches, rows, columns;
};

Matrix as_matrix(const Shape& shape, int batch_axes) {
  return {shape.elements(0, batch_axes), shape.elements(batch_axes, shape.rank() - 1), shape[-1]};
}

std::vector<OutputSpec> infer(const OpView& op) {
  const Attributes& attributes = op.attributes();
  const int batch_axes = static_cast<int>(attributes.integer("batch_axes"));
  const Shape& a = op.in(kA);
  const Shape& b = op.in(kB);
  op.require(a.rank() >= batch_axes + 2 && b.rank() >= batch_axes + 2,
             "operands need at least rows and columns");
  op.require(a.slice(0, batch_axes) == b.slice(0, batch_axes), "operands differ in their batch axes");
  const bool fp8 = is_fp8(op.input(kA).dtype);
  op.require(fp8 ? is_fp8(op.input(kB).dtype) : op.input(kA).dtype == op.input(kB).dtype,
             "operands differ in element type");
  op.require(!fp8 || (op.has(kAScale) && op.has(kBScale)), "fp8 operands need their scales");

  const Matrix ma = as_matrix(a, batch_axes);
  const Matrix mb = as_matrix(b, batch_axes);
  const bool ta = attributes.boolean("transpose_a");
  const bool tb = attributes.boolean("transpose_b");
  const std::int64_t inner_a = ta ? ma.rows : ma.columns;
  const std::int64_t inner_b = tb ? mb.columns : mb.rows;
  if (inner_a != inner_b) op.refuse(format("inner extents {} and {} differ", inner_a, inner_b));
  const std::int64_t columns = tb ? mb.rows : mb.columns;
  if (op.has(kBias))
    if (!(op.in(kBias) == Shape{columns})) op.refuse(format("bias must have shape [{}]", columns));

  // Rows keep the axes that a had: [B, T, in] by [in, out] is [B, T, out].
  const Shape y = ta ? a.slice(0, batch_axes).append(ma.columns).append(columns)
                     : a.slice(0, a.rank() - 1).append(columns);
  const DType dtype = fp8 ? DType::kBF16 : op.input(kA).dtype;
  std::vector<OutputSpec> outputs{{y, dtype}};
  if (activation_named(attributes.text("activation")) != Activation::kNone &&
      attributes.boolean("save_pre_activation"))
    outputs.push_back({y, dtype});
  return outputs;
}

void cost(const OpView& op, const CostContext&, OpCost& cost) {
  const MatmulExtents e = matmul_extents(op);
  const std::int64_t outputs = e.batches * e.m * e.n;
  cost.matrix += Flops{2} * outputs * e.k;
  std::int64_t per_output = 0;
  if (op.has(kBias)) per_output += 1;
  if (op.attributes().real("alpha") != 1 || op.has(kAScale)) per_output += 1;
  per_output += gelu_flops(activation_named(op.attributes().text("activation")));
  cost.vector += Flops{outputs} * per_output;
}

Saved saves(const OpView& op) {
  const bool activated = activation_named(op.attributes().text("activation")) != Activation::kNone;
  return {.inputs = bit(kA) | bit(kB) | bit(kAScale) | bit(kBScale), .outputs = activated ? bit(1) : 0};
}

// With p = alpha * op(a) op(b) + bias: dp follows from the activation, then
//   d op(a) = alpha * dp op(b)^T,   d op(b) = alpha * op(a)^T dp,   d bias = sum of dp over rows.
void gradient(GradientRule& rule) {
  const Attributes& attributes = rule.attributes();
  const bool ta = attributes.boolean("transpose_a");
  const bool tb = attributes.boolean("transpose_b");
  TensorId dp = rule.gradient(0);
  if (const Activation activation = activation_named(attributes.text("activation"));
      activation != Activation::kNone)
    dp = rule.step({.kind = OpKind::kGeluGrad,
                    .inputs = {rule.output(1), dp},
                    .attributes = {{"form", std::string(to_string(activation))}}});
  if (rule.wants(kBias))
    rule.emit({.kind = OpKind::kSumRows, .inputs = {dp}, .label = "matmul.grad_bias"}, {kBias});

  TensorId dp_scale = kNoTensor;
  if (rule.has(kAScale)) {
    // Gradients need range more than precision: e5m2, as fp8 training does.
    const std::vector<TensorId> quantized = rule.steps(
        {.kind = OpKind::kQuantizeFp8, .inputs = {dp}, .attributes = {{"format", std::string("f8e5m2")}}});
    dp = quantized[0];
    dp_scale = quantized[1];
  }
  // Emits the product of two operands as the gradient of input i.
  struct Operand {
    TensorId tensor;
    bool transpose;
    TensorId scale;
  };
  const std::int64_t batch_axes = attributes.integer("batch_axes");
  const auto emit_product = [&](const Operand& left, const Operand& right, int i, const char* label) {
    NewOp product{.kind = OpKind::kMatmul,
                  .inputs = {left.tensor, right.tensor, kNoTensor, left.scale, right.scale},
                  .attributes = {{"transpose_a", left.transpose},
                                 {"transpose_b", right.transpose},
                                 {"batch_axes", batch_axes},
                                 {"alpha", attributes.real("alpha")}},
                  .label = label};
    const Shape from = rule.op().graph.tensor(left.tensor).shape;
    const Shape rows = left.transpose ? from.slice(0, static_cast<int>(batch_axes)).append(from[-1])
                                      : from.slice(0, from.rank() - 1);
    const Shape wanted = rule.input_shape(i);
    if (rows == wanted.slice(0, wanted.rank() - 1)) {
      rule.emit(std::move(product), {i});
      return;
    }
    // The same rows along other axes than the operand has.
    rule.emit({.kind = OpKind::kReshape,
               .inputs = {rule.step(std::move(product))},
               .attributes = {{"shape", Integers(wanted.extents().begin(), wanted.extents().end())}}},
              {i});
  };
  if (rule.wants(kA)) {
    const Operand b{rule.input(kB), ta ? tb : !tb, rule.input(kBScale)};
    const Operand dy{dp, ta, dp_scale};
    ta ? emit_product(b, dy, kA, "matmul.grad_a") : emit_product(dy, b, kA, "matmul.grad_a");
  }
  if (rule.wants(kB)) {
    const Operand a{rule.input(kA), tb ? ta : !ta, rule.input(kAScale)};
    const Operand dy{dp, tb, dp_scale};
    tb ? emit_product(dy, a, kB, "matmul.grad_b") : emit_product(a, dy, kB, "matmul.grad_b");
  }
}

}  // namespace

std::string_view to_string(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kGeluErf:
      return "gelu_erf";
  }
  unreachable();
}

Activation activation_named(std::string_view name) {
  for (const Activation activation : {Activation::kNone, Activation::kGeluTanh, Activation::kGeluErf})
    if (to_string(activation) == name) return activation;
  throw input_error({}, format("unknown activation '{}'", name), "known: none, gelu_tanh, gelu_erf");
}

MatmulExtents matmul_extents(const OpView& op) {
  const Attributes& attributes = op.attributes();
  const int batch_axes = static_cast<int>(attributes.integer("batch_axes"));
  const Matrix a = as_matrix(op.in(kA), batch_axes);
  const Matrix b = as_matrix(op.in(kB), batch_axes);
  const bool ta = attributes.boolean("transpose_a");
  return {.batches = a.batches,
          .m = ta ? a.columns : a.rows,
          .n = attributes.boolean("transpose_b") ? b.rows : b.columns,
          .k = ta ? a.rows : a.columns};
}

TensorId matmul(GraphBuilder& builder, const MatmulArgs& args) {
  return builder.add_one({.kind = OpKind::kMatmul,
                          .inputs = {args.a, args.b, args.bias, args.a_scale, args.b_scale},
                          .attributes = {{"transpose_a", args.transpose_a},
                                         {"transpose_b", args.transpose_b},
                                         {"batch_axes", args.batch_axes},
                                         {"alpha", args.alpha},
                                         {"activation", std::string(to_string(args.activation))},
                                         {"save_pre_activation", args.save_pre_activation}}});
}

OpDefinition matmul_definition() {
  return {.kind = OpKind::kMatmul,
          .name = "matmul",
          .attributes = {{"transpose_a", false},
                         {"transpose_b", false},
                         {"batch_axes", std::int64_t{0}},
                         {"alpha", 1.0},
                         {"activation", std::string("none")},
                         {"save_pre_activation", false}},
          .inputs = {"a", "b", "bias?", "a_scale?", "b_scale?"},
          .infer = infer,
          .cost = cost,
          .saves = saves,
          .gradient = gradient};
}

}  // namespace nadi::inline describe
