#include "nadi/graph/ops/views.h"

#include <algorithm>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<std::int64_t> contiguous_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank(), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) strides[axis] = strides[axis + 1] * shape[axis + 1];
  return strides;
}

// Strides for `to` on memory that has `strides` for `from`, or nothing when a copy would be needed. Axes are
// matched in groups with equal numbers of elements; a group of `from` must be evenly strided to be regrouped.
std::optional<std::vector<std::int64_t>> reshaped_strides(const Shape& from,
                                                          const std::vector<std::int64_t>& strides,
                                                          const Shape& to) {
  std::vector<std::int64_t> result(to.rank(), 0);
  int i = from.rank() - 1;
  int j = to.rank() - 1;
  while (i >= 0 || j >= 0) {
    if (i >= 0 && from[i] == 1) {
      --i;
      continue;
    }
    if (j >= 0 && to[j] == 1) {
      result[j--] = 1;
      continue;
    }
    if (i < 0 || j < 0) return std::nullopt;
    std::int64_t stride = strides[i];
    std::int64_t left = from[i], right = to[j];
    std::int64_t spanned = from[i];  // elements of the group so far
    result[j] = stride;
    while (left != right) {
      if (left < right) {
        --i;
        if (i < 0 || strides[i] != stride * spanned) return std::nullopt;
        left *= from[i];
        spanned *= from[i];
      } else {
        --j;
        if (j < 0) return std::nullopt;
        result[j] = stride * right;
        right *= to[j];
      }
    }
    --i;
    --j;
  }
  return result;
}

Integers as_integers(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

std::vector<OutputSpec> infer_reshape(const OpView& op) {
  const Shape to(op.attributes().integers("shape"));
  if (!(to.elements() == op.in(0).elements()))
    op.refuse(format("cannot become {} with another number of elements", to.to_string()));
  const Layout layout = layout_of(op.graph, op.op.inputs[0]);
  if (!(reshaped_strides(op.in(0), layout.strides, to).has_value()))
    op.refuse(format("a view with gaps cannot become {}; copy it first", to.to_string()));
  return {{to, op.input(0).dtype}};
}

std::vector<OutputSpec> infer_permute(const OpView& op) {
  const Integers& axes = op.attributes().integers("axes");
  Integers sorted = axes;
  std::ranges::sort(sorted);
  Integers all(op.in(0).rank());
  std::iota(all.begin(), all.end(), 0);
  op.require(sorted == all, "axes must name each axis once");
  Shape to = op.in(0);
  for (int i = 0; i < to.rank(); ++i) to.set(i, op.in(0)[static_cast<int>(axes[i])]);
  return {{to, op.input(0).dtype}};
}

std::vector<OutputSpec> infer_split(const OpView& op) {
  const int axis = static_cast<int>(op.attributes().integer("axis"));
  const Integers& extents = op.attributes().integers("extents");
  op.require(axis >= 0 && axis < op.in(0).rank(), "the axis is out of range");
  if (!(std::accumulate(extents.begin(), extents.end(), std::int64_t{0}) == op.in(0)[axis]))
    op.refuse(format("parts do not add up to {}", op.in(0)[axis]));
  std::vector<OutputSpec> outputs;
  for (const std::int64_t extent : extents) {
    Shape part = op.in(0);
    part.set(axis, extent);
    outputs.push_back({part, op.input(0).dtype});
  }
  return outputs;
}

std::vector<OutputSpec> infer_concat(const OpView& op) {
  const int axis = static_cast<int>(op.attributes().integer("axis"));
  op.require(!op.op.inputs.empty() && axis >= 0 && axis < op.in(0).rank(),
             "needs at least one part and an axis within its rank");
  Shape whole = op.in(0);
  std::int64_t extent = 0;
  for (std::size_t i = 0; i < op.op.inputs.size(); ++i) {
    Shape part = op.in(i);
    op.require(part.rank() == whole.rank(), "parts differ in rank");
    extent += part[axis];
    part.set(axis, whole[axis]);
    op.require(part == whole, "parts differ in other axes");
  }
  whole.set(axis, extent);
  return {{whole, op.input(0).dtype}};
}

void reshape_gradient(GradientRule& rule) {
  TensorId dy = rule.gradient(0);
  // It may come as a view, say permuted, that cannot be regrouped in place.
  const Layout layout = layout_of(rule.op().graph, dy);
  if (!reshaped_strides(rule.op().graph.tensor(dy).shape, layout.strides, rule.input_shape(0)))
    dy = rule.step({.kind = OpKind::kCopy, .inputs = {dy}});
  rule.emit(
      {.kind = OpKind::kReshape, .inputs = {dy}, .attributes = {{"shape", as_integers(rule.input_shape(0))}}},
      {0});
}

void permute_gradient(GradientRule& rule) {
  const Integers& axes = rule.attributes().integers("axes");
  Integers inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) inverse[axes[i]] = static_cast<std::int64_t>(i);
  rule.emit({.kind = OpKind::kPermute, .inputs = {rule.gradient(0)}, .attributes = {{"axes", inverse}}}, {0});
}

void split_gradient(GradientRule& rule) {
  const Integers& extents = rule.attributes().integers("extents");
  const int axis = static_cast<int>(rule.attributes().integer("axis"));
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    TensorId part = rule.gradient(static_cast<int>(i));
    if (part == kNoTensor) {  // nobody used this part
      Shape shape = rule.input_shape(0);
      shape.set(axis, extents[i]);
      part = rule.step({.kind = OpKind::kFill,
                        .inputs = {},
                        .attributes = {{"shape", as_integers(shape)},
                                       {"dtype", std::string(to_string(rule.op().input(0).dtype))}}});
    }
    parts.push_back(part);
  }
  rule.emit({.kind = OpKind::kConcat, .inputs = parts, .attributes = {{"axis", std::int64_t{axis}}}}, {0});
}

void concat_gradient(GradientRule& rule) {
  const std::int64_t axis = rule.attributes().integer("axis");
  Integers extents;
  const int parts = static_cast<int>(rule.op().op.inputs.size());
  for (int i = 0; i < parts; ++i) extents.push_back(rule.input_shape(i)[static_cast<int>(axis)]);
  const std::vector<TensorId> gradients = rule.steps({.kind = OpKind::kSplit,
                                                      .inputs = {rule.gradient(0)},
                                                      .attributes = {{"axis", axis}, {"extents", extents}}});
  for (int i = 0; i < parts; ++i) rule.pass(i, gradients[i]);
}

Saved saves_nothing(const OpView&) {
  return {};
}

}  // namespace

TensorId reshape(GraphBuilder& builder, TensorId x, const Shape& shape) {
  if (builder.shape(x) == shape) return x;
  return builder.add_one(
      {.kind = OpKind::kReshape, .inputs = {x}, .attributes = {{"shape", as_integers(shape)}}});
}

TensorId permute(GraphBuilder& builder, TensorId x, std::initializer_list<std::int64_t> axes) {
  return builder.add_one({.kind = OpKind::kPermute, .inputs = {x}, .attributes = {{"axes", Integers(axes)}}});
}

std::vector<TensorId> split(GraphBuilder& builder, TensorId x, int axis,
                            std::span<const std::int64_t> extents) {
  return builder.add(
      {.kind = OpKind::kSplit,
       .inputs = {x},
       .attributes = {{"axis", std::int64_t{axis}}, {"extents", Integers(extents.begin(), extents.end())}}});
}

TensorId concat(GraphBuilder& builder, std::span<const TensorId> parts, int axis) {
  return builder.add_one({.kind = OpKind::kConcat,
                          .inputs = {parts.begin(), parts.end()},
                          .attributes = {{"axis", std::int64_t{axis}}}});
}

bool is_contiguous(const Shape& shape, std::span<const std::int64_t> strides) {
  std::int64_t expected = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

Layout layout_of(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensor(id);
  if (tensor.producer == kNoOp || definition(graph.op(tensor.producer).kind).op_class != OpClass::kView)
    return {.root = id, .offset = 0, .strides = contiguous_strides(tensor.shape)};
  const Op& op = graph.op(tensor.producer);
  const Shape& from = graph.tensor(op.inputs[0]).shape;
  Layout layout = layout_of(graph, op.inputs[0]);
  switch (op.kind) {
    case OpKind::kReshape:
      layout.strides = *reshaped_strides(from, layout.strides, tensor.shape);
      return layout;
    case OpKind::kPermute: {
      const std::vector<std::int64_t> before = layout.strides;
      const Integers& axes = op.attributes.integers("axes");
      for (std::size_t i = 0; i < axes.size(); ++i) layout.strides[i] = before[axes[i]];
      return layout;
    }
    case OpKind::kSplit: {
      const std::int64_t axis = op.attributes.integer("axis");
      const Integers& extents = op.attributes.integers("extents");
      for (std::size_t i = 0; op.outputs[i].tensor != id; ++i)
        layout.offset += extents[i] * layout.strides[axis];
      return layout;
    }
    case OpKind::kCopyToGroup:
      return layout;
    default:
      check(false, "a view op without a layout");
      return layout;
  }
}

OpDefinition reshape_definition() {
  return {.kind = OpKind::kReshape,
          .name = "reshape",
          .op_class = OpClass::kView,
          .attributes = {{"shape", Integers{}}},
          .inputs = {"x"},
          .infer = infer_reshape,
          .saves = saves_nothing,
          .gradient = reshape_gradient};
}

OpDefinition permute_definition() {
  return {.kind = OpKind::kPermute,
          .name = "permute",
          .op_class = OpClass::kView,
          .attributes = {{"axes", Integers{}}},
          .inputs = {"x"},
          .infer = infer_permute,
          .saves = saves_nothing,
          .gradient = permute_gradient};
}

OpDefinition split_definition() {
  return {.kind = OpKind::kSplit,
          .name = "split",
          .op_class = OpClass::kView,
          .attributes = {{"axis", std::int64_t{0}}, {"extents", Integers{}}},
          .inputs = {"x"},
          .infer = infer_split,
          .saves = saves_nothing,
          .gradient = split_gradient};
}

OpDefinition concat_definition() {
  return {.kind = OpKind::kConcat,
          .name = "concat",
          .work = WorkKind::kCopy,
          .attributes = {{"axis", std::int64_t{0}}},
          .inputs = {"parts*"},
          .infer = infer_concat,
          .saves = saves_nothing,
          .gradient = concat_gradient};
}

}  // namespace nadi::inline describe
