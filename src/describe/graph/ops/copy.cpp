#include "nadi/graph/ops/copy.h"

#include "nadi/base/error.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

DType dtype_named(const OpView& op, const std::string& name) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI32, DType::kI64})
    if (to_string(dtype) == name) return dtype;
  op.refuse("cannot make elements of type '" + name + "'");
}

}  // namespace

TensorId copy(GraphBuilder& builder, TensorId x) {
  return builder.add_one({.kind = OpKind::kCopy, .inputs = {x}});
}

TensorId cast(GraphBuilder& builder, TensorId x, DType to) {
  if (builder.tensor(x).dtype == to) return x;
  return builder.add_one(
      {.kind = OpKind::kCast, .inputs = {x}, .attributes = {{"to", std::string(to_string(to))}}});
}

void fill(GraphBuilder& builder, TensorId variable, double value) {
  const Tensor& tensor = builder.tensor(variable);
  const auto extents = tensor.shape.extents();
  builder.add({.kind = OpKind::kFill,
               .inputs = {},
               .attributes = {{"value", value},
                              {"shape", Integers(extents.begin(), extents.end())},
                              {"dtype", std::string(to_string(tensor.dtype))}},
               .into = {{variable}}});
}

OpDefinition copy_definition() {
  return {.kind = OpKind::kCopy,
          .name = "copy",
          .inputs = {"x"},
          .infer =
              [](const OpView& op) {
                return std::vector<OutputSpec>{{op.in(0), op.input(0).dtype}};
              },
          .saves = [](const OpView&) { return Saved{}; },
          .gradient = [](GradientRule& rule) { rule.pass(0, rule.gradient(0)); }};
}

OpDefinition cast_definition() {
  return {.kind = OpKind::kCast,
          .name = "cast",
          .work = WorkKind::kCopy,
          .attributes = {{"to", std::string("f32")}},
          .inputs = {"x"},
          .infer =
              [](const OpView& op) {
                return std::vector<OutputSpec>{{op.in(0), dtype_named(op, op.attributes().text("to"))}};
              },
          .straight_through = true};
}

OpDefinition fill_definition() {
  return {.kind = OpKind::kFill,
          .name = "fill",
          .attributes = {{"value", 0.0}, {"shape", Integers{}}, {"dtype", std::string("f32")}},
          .infer = [](const OpView& op) {
            return std::vector<OutputSpec>{
                {Shape(op.attributes().integers("shape")), dtype_named(op, op.attributes().text("dtype"))}};
          }};
}

}  // namespace nadi::inline describe
