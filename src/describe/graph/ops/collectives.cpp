#include "nadi/graph/ops/collectives.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"
#include "nadi/graph/ops/gather_again.h"

namespace nadi::inline describe {
namespace {

const AttributeSpec kGroup{"group", std::string()};
const AttributeSpec kGroupSize{"group_size", std::int64_t{1}};

Attributes group_attributes(const GroupArgs& group) {
  return {{"group", group.group}, {"group_size", group.size}};
}

Attributes same_group(const GradientRule& rule) {
  return {{"group", rule.attributes().text("group")},
          {"group_size", rule.attributes().integer("group_size")}};
}

Attributes with(Attributes attributes, std::string_view name, AttributeValue value) {
  attributes.set(name, std::move(value));
  return attributes;
}

std::int64_t group_size(const OpView& op) {
  const std::int64_t size = op.attributes().integer("group_size");
  op.require(size >= 1, "a group has at least one member");
  return size;
}

int axis_named(const OpView& op, std::string_view name) {
  const std::int64_t axis = op.attributes().integer(name);
  if (!(axis >= 0 && axis < op.in(0).rank())) op.refuse(format("{} {} is out of range", name, axis));
  return static_cast<int>(axis);
}

std::vector<OutputSpec> like_input(const OpView& op) {
  group_size(op);
  return {{op.in(0), op.input(0).dtype}};
}

std::vector<OutputSpec> infer_all_reduce(const OpView& op) {
  const ReduceOp reduce_op = reduce_op_named(op.attributes().text("op"));
  op.require(reduce_op != ReduceOp::kAverage || !op.attributes().boolean("replicated"),
             "the gradient of a replicated average would have to be divided; use a sum");
  group_size(op);
  // Any number of tensors: a bucket is reduced as one.
  std::vector<OutputSpec> outputs;
  for (std::size_t i = 0; i < op.op.inputs.size(); ++i) outputs.push_back({op.in(i), op.input(i).dtype});
  return outputs;
}

std::vector<OutputSpec> infer_rooted(const OpView& op) {
  const std::int64_t root = op.attributes().integer("root");
  if (!(root >= 0 && root < group_size(op))) op.refuse(format("root {} is not in the group", root));
  return like_input(op);
}

std::vector<OutputSpec> infer_all_gather(const OpView& op) {
  const int axis = axis_named(op, "axis");
  Shape y = op.in(0);
  y.set(axis, y[axis] * group_size(op));
  return {{y, op.input(0).dtype}};
}

Shape split_over_group(const OpView& op, int axis) {
  Shape y = op.in(0);
  const std::int64_t size = group_size(op);
  if (!(y[axis] % size == 0))
    op.refuse(format("an extent of {} does not divide over {} ranks", y[axis], size));
  y.set(axis, y[axis] / size);
  return y;
}

std::vector<OutputSpec> infer_reduce_scatter(const OpView& op) {
  return {{split_over_group(op, axis_named(op, "axis")), op.input(0).dtype}};
}

std::vector<OutputSpec> infer_all_to_all(const OpView& op) {
  Shape y = split_over_group(op, axis_named(op, "split_axis"));
  const int axis = axis_named(op, "concat_axis");
  y.set(axis, y[axis] * group_size(op));
  return {{y, op.input(0).dtype}};
}

std::vector<OutputSpec> infer_all_reduce_grad(const OpView& op) {
  op.require(op.in(0) == op.in(1) && op.in(0) == op.in(2), "x, y and the gradient differ in shape");
  return {{op.in(0), op.input(2).dtype}};
}

void sends_input(const OpView& op, const CostContext&, OpCost& cost) {
  for (std::size_t i = 0; i < op.op.inputs.size(); ++i) cost.sent += op.input(i).size();
}

std::int64_t flat_elements(const OpView& op) {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < op.op.inputs.size(); ++i) elements += op.in(i).elements();
  return elements;
}

std::vector<OutputSpec> infer_bucket_reduce_scatter(const OpView& op) {
  op.require(!op.op.inputs.empty(), "needs at least one tensor");
  return {{Shape{bucket_part(flat_elements(op), group_size(op))}, op.input(0).dtype}};
}

// The shapes of the tensors it puts together are its attributes, one after the other: rank, then extents.
std::vector<OutputSpec> infer_bucket_all_gather(const OpView& op) {
  const Integers& shapes = op.attributes().integers("shapes");
  std::vector<OutputSpec> outputs;
  std::int64_t elements = 0;
  for (std::size_t at = 0; at < shapes.size(); at += 1 + shapes[at]) {
    const Shape shape{std::span<const std::int64_t>(shapes).subspan(at + 1, shapes[at])};
    elements += shape.elements();
    outputs.push_back({shape, op.input(0).dtype});
  }
  op.require(op.in(0) == Shape{bucket_part(elements, group_size(op))},
             "the part does not have the size that the tensors need");
  return outputs;
}

Saved saves_nothing(const OpView&) {
  return {};
}

// Minimum, maximum and product need to know which member contributed what.
bool is_linear(ReduceOp op) {
  return op == ReduceOp::kSum || op == ReduceOp::kAverage;
}

Saved all_reduce_saves(const OpView& op) {
  if (is_linear(reduce_op_named(op.attributes().text("op")))) return {};
  return {.inputs = bit(0), .outputs = bit(0)};
}

void all_reduce_gradient(GradientRule& rule) {
  const bool replicated = rule.attributes().boolean("replicated");
  const ReduceOp op = reduce_op_named(rule.attributes().text("op"));
  if (is_linear(op)) {
    if (replicated) return rule.pass(0, rule.gradient(0));
    rule.emit({.kind = OpKind::kAllReduce,
               .inputs = {rule.gradient(0)},
               .attributes = with(same_group(rule), "op", std::string(to_string(op)))},
              {0});
    return;
  }
  const TensorId summed =
      replicated
          ? rule.gradient(0)
          : rule.step(
                {.kind = OpKind::kAllReduce, .inputs = {rule.gradient(0)}, .attributes = same_group(rule)});
  rule.emit({.kind = OpKind::kAllReduceGrad,
             .inputs = {rule.input(0), rule.output(0), summed},
             .attributes = {{"op", std::string(to_string(op))}}},
            {0});
}

// The gradient goes through a collective of this kind, which has one attribute of the op besides the group.
void gradient_through(GradientRule& rule, OpKind back, std::string_view attribute) {
  rule.emit({.kind = back,
             .inputs = {rule.gradient(0)},
             .attributes = with(same_group(rule), attribute, rule.attributes().integer(attribute))},
            {0});
}

void reduce_gradient(GradientRule& rule) {
  gradient_through(rule, OpKind::kBroadcast, "root");
}

void broadcast_gradient(GradientRule& rule) {
  gradient_through(rule, OpKind::kReduce, "root");
}

void all_gather_gradient(GradientRule& rule) {
  gradient_through(rule, OpKind::kReduceScatter, "axis");
}

void reduce_scatter_gradient(GradientRule& rule) {
  gradient_through(rule, OpKind::kAllGather, "axis");
}

void all_to_all_gradient(GradientRule& rule) {
  Attributes back = with(same_group(rule), "split_axis", rule.attributes().integer("concat_axis"));
  back.set("concat_axis", rule.attributes().integer("split_axis"));
  rule.emit({.kind = OpKind::kAllToAll, .inputs = {rule.gradient(0)}, .attributes = back}, {0});
}

void copy_to_group_gradient(GradientRule& rule) {
  // What a group has summed is not added to anything on its way, as the gradient of a parameter may be.
  const TensorId sum = rule.steps(
      {.kind = OpKind::kAllReduce, .inputs = {rule.gradient(0)}, .attributes = same_group(rule)})[0];
  rule.pass(0, sum);
}

// A collective of one tensor; the group comes before the other attributes.
OpDefinition collective(OpKind kind, std::string_view name, std::vector<AttributeSpec> attributes,
                        decltype(OpDefinition::infer) infer, decltype(OpDefinition::gradient) gradient) {
  attributes.insert(attributes.begin(), {kGroup, kGroupSize});
  return {.kind = kind,
          .name = name,
          .op_class = OpClass::kCollective,
          .attributes = std::move(attributes),
          .inputs = {"x"},
          .infer = infer,
          .cost = sends_input,
          .saves = saves_nothing,
          .gradient = gradient};
}

}  // namespace

std::string_view to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kAverage:
      return "avg";
    case ReduceOp::kMinimum:
      return "min";
    case ReduceOp::kMaximum:
      return "max";
    case ReduceOp::kProduct:
      return "prod";
  }
  unreachable();
}

ReduceOp reduce_op_named(std::string_view name) {
  for (const ReduceOp op :
       {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMinimum, ReduceOp::kMaximum, ReduceOp::kProduct})
    if (to_string(op) == name) return op;
  throw input_error({}, format("unknown reduction '{}'", name), "known: sum, avg, min, max, prod");
}

TensorId all_reduce(GraphBuilder& builder, const AllReduceArgs& args) {
  Attributes attributes = with(group_attributes(args.group), "op", std::string(to_string(args.op)));
  attributes.set("replicated", args.replicated);
  return builder.add_one(
      {.kind = OpKind::kAllReduce, .inputs = {args.x}, .attributes = attributes, .into = {args.into}});
}

std::int64_t bucket_part(std::int64_t elements, std::int64_t members) {
  return divided_up(elements, members);
}

void bucket_all_reduce(GraphBuilder& builder, std::span<const TensorId> tensors, const GroupArgs& group) {
  NewOp op{.kind = OpKind::kAllReduce,
           .inputs = {tensors.begin(), tensors.end()},
           .attributes = group_attributes(group)};
  for (const TensorId tensor : tensors) op.into.push_back({tensor});
  builder.add(std::move(op));
}

void bucket_reduce_scatter(GraphBuilder& builder, std::span<const TensorId> tensors, const GroupArgs& group,
                           TensorId into) {
  builder.add({.kind = OpKind::kBucketReduceScatter,
               .inputs = {tensors.begin(), tensors.end()},
               .attributes = group_attributes(group),
               .into = {{into}}});
}

void bucket_all_gather(GraphBuilder& builder, TensorId part, const GroupArgs& group,
                       std::span<const TensorId> into) {
  Integers shapes;
  NewOp op{.kind = OpKind::kBucketAllGather, .inputs = {part}};
  for (const TensorId tensor : into) {
    const Shape& shape = builder.shape(tensor);
    shapes.push_back(shape.rank());
    shapes.insert(shapes.end(), shape.extents().begin(), shape.extents().end());
    op.into.push_back({tensor});
  }
  op.attributes = with(group_attributes(group), "shapes", shapes);
  builder.add(std::move(op));
}

TensorId reduce(GraphBuilder& builder, TensorId x, const GroupArgs& group, std::int64_t root) {
  return builder.add_one(
      {.kind = OpKind::kReduce, .inputs = {x}, .attributes = with(group_attributes(group), "root", root)});
}

TensorId all_gather(GraphBuilder& builder, TensorId x, const GroupArgs& group, int axis) {
  return builder.add_one({.kind = OpKind::kAllGather,
                          .inputs = {x},
                          .attributes = with(group_attributes(group), "axis", std::int64_t{axis})});
}

TensorId all_gather_again(GraphBuilder& builder, TensorId x, const GroupArgs& group, int axis) {
  Attributes attributes = with(group_attributes(group), "axis", std::int64_t{axis});
  attributes.set("again", true);
  return builder.add_one({.kind = OpKind::kAllGather, .inputs = {x}, .attributes = attributes});
}

bool is_gathered_again(const Op& op) {
  return op.kind == OpKind::kAllGather && op.attributes.boolean("again");
}

TensorId reduce_scatter(GraphBuilder& builder, TensorId x, const GroupArgs& group, int axis) {
  return builder.add_one({.kind = OpKind::kReduceScatter,
                          .inputs = {x},
                          .attributes = with(group_attributes(group), "axis", std::int64_t{axis})});
}

TensorId broadcast(GraphBuilder& builder, TensorId x, const GroupArgs& group, std::int64_t root) {
  return builder.add_one(
      {.kind = OpKind::kBroadcast, .inputs = {x}, .attributes = with(group_attributes(group), "root", root)});
}

TensorId all_to_all(GraphBuilder& builder, const AllToAllArgs& args) {
  Attributes attributes = with(group_attributes(args.group), "split_axis", std::int64_t{args.split_axis});
  attributes.set("concat_axis", std::int64_t{args.concat_axis});
  return builder.add_one({.kind = OpKind::kAllToAll, .inputs = {args.x}, .attributes = attributes});
}

TensorId copy_to_group(GraphBuilder& builder, TensorId x, const GroupArgs& group) {
  return builder.add_one(
      {.kind = OpKind::kCopyToGroup, .inputs = {x}, .attributes = group_attributes(group)});
}

OpDefinition all_reduce_definition() {
  return {.kind = OpKind::kAllReduce,
          .name = "all_reduce",
          .op_class = OpClass::kCollective,
          .attributes = {kGroup, kGroupSize, {"op", std::string("sum")}, {"replicated", false}},
          .inputs = {"x*"},
          .infer = infer_all_reduce,
          .cost = sends_input,
          .saves = all_reduce_saves,
          .gradient = all_reduce_gradient,
          .in_place_input = 0};
}

OpDefinition all_reduce_grad_definition() {
  return {.kind = OpKind::kAllReduceGrad,
          .name = "all_reduce_grad",
          .attributes = {{"op", std::string("max")}},
          .inputs = {"x", "y", "dy"},
          .infer = infer_all_reduce_grad,
          .cost = [](const OpView& op, const CostContext&,
                     OpCost& cost) { cost.vector += Flops{op.in(0).elements()} * 2; },
          .in_place_input = 2};
}

OpDefinition reduce_definition() {
  OpDefinition reduce =
      collective(OpKind::kReduce, "reduce", {{"root", std::int64_t{0}}}, infer_rooted, reduce_gradient);
  reduce.in_place_input = 0;
  return reduce;
}

OpDefinition all_gather_definition() {
  return collective(OpKind::kAllGather, "all_gather", {{"axis", std::int64_t{0}}, {"again", false}},
                    infer_all_gather, all_gather_gradient);
}

OpDefinition reduce_scatter_definition() {
  return collective(OpKind::kReduceScatter, "reduce_scatter", {{"axis", std::int64_t{0}}},
                    infer_reduce_scatter, reduce_scatter_gradient);
}

OpDefinition bucket_reduce_scatter_definition() {
  return {.kind = OpKind::kBucketReduceScatter,
          .name = "bucket_reduce_scatter",
          .op_class = OpClass::kCollective,
          .attributes = {kGroup, kGroupSize},
          .inputs = {"tensors*"},
          .infer = infer_bucket_reduce_scatter,
          .cost = sends_input};
}

OpDefinition bucket_all_gather_definition() {
  return {.kind = OpKind::kBucketAllGather,
          .name = "bucket_all_gather",
          .op_class = OpClass::kCollective,
          .attributes = {kGroup, kGroupSize, {"shapes", Integers{}}},
          .inputs = {"part"},
          .infer = infer_bucket_all_gather,
          .cost = sends_input};
}

OpDefinition broadcast_definition() {
  OpDefinition broadcast = collective(OpKind::kBroadcast, "broadcast", {{"root", std::int64_t{0}}},
                                      infer_rooted, broadcast_gradient);
  broadcast.in_place_input = 0;
  return broadcast;
}

OpDefinition all_to_all_definition() {
  return collective(OpKind::kAllToAll, "all_to_all",
                    {{"split_axis", std::int64_t{0}}, {"concat_axis", std::int64_t{0}}}, infer_all_to_all,
                    all_to_all_gradient);
}

OpDefinition copy_to_group_definition() {
  return {.kind = OpKind::kCopyToGroup,
          .name = "copy_to_group",
          .op_class = OpClass::kView,
          .attributes = {kGroup, kGroupSize},
          .inputs = {"x"},
          .infer = like_input,
          .saves = saves_nothing,
          .gradient = copy_to_group_gradient};
}

}  // namespace nadi::inline describe
