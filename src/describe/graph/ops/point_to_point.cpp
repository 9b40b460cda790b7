#include "nadi/graph/ops/point_to_point.h"

#include "nadi/base/error.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

Attributes peer_attributes(const PeerArgs& args) {
  return {{"group", args.group}, {"peer", args.peer}, {"tag", args.tag}};
}

Attributes back_to_peer(const GradientRule& rule) {
  const Attributes& there = rule.attributes();
  return {{"group", there.text("group")}, {"peer", there.integer("peer")}, {"tag", there.integer("tag") + 1}};
}

Attributes received(Attributes peer, const Shape& shape, DType dtype) {
  peer.set("shape", Integers(shape.extents().begin(), shape.extents().end()));
  peer.set("dtype", std::string(to_string(dtype)));
  return peer;
}

std::vector<OutputSpec> infer_receive(const OpView& op) {
  const std::string& name = op.attributes().text("dtype");
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI32, DType::kI64})
    if (to_string(dtype) == name) return {{Shape(op.attributes().integers("shape")), dtype}};
  op.refuse("cannot receive elements of type '" + name + "'");
}

}  // namespace

void send(GraphBuilder& builder, TensorId x, const PeerArgs& to) {
  check(to.tag % 2 == 0, "forward tags are even");
  builder.add({.kind = OpKind::kSend, .inputs = {x}, .attributes = peer_attributes(to)});
}

TensorId receive(GraphBuilder& builder, const Shape& shape, DType dtype, const PeerArgs& from) {
  check(from.tag % 2 == 0, "forward tags are even");
  return builder.add_one(
      {.kind = OpKind::kReceive, .inputs = {}, .attributes = received(peer_attributes(from), shape, dtype)});
}

OpDefinition send_definition() {
  return {.kind = OpKind::kSend,
          .name = "send",
          .op_class = OpClass::kPointToPoint,
          .attributes = {{"group", std::string()}, {"peer", std::int64_t{0}}, {"tag", std::int64_t{0}}},
          .inputs = {"x"},
          .infer = [](const OpView&) { return std::vector<OutputSpec>{}; },
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) { cost.sent += op.input(0).size(); },
          .saves = [](const OpView&) { return Saved{}; },
          .gradient =
              [](GradientRule& rule) {
                const Tensor& x = rule.op().input(0);
                rule.emit({.kind = OpKind::kReceive,
                           .inputs = {},
                           .attributes = received(back_to_peer(rule), x.shape, x.dtype)},
                          {0});
              }};
}

OpDefinition receive_definition() {
  return {.kind = OpKind::kReceive,
          .name = "receive",
          .op_class = OpClass::kPointToPoint,
          .attributes = {{"group", std::string()},
                         {"peer", std::int64_t{0}},
                         {"tag", std::int64_t{0}},
                         {"shape", Integers{}},
                         {"dtype", std::string("f32")}},
          .infer = infer_receive,
          .saves = [](const OpView&) { return Saved{}; },
          .gradient =
              [](GradientRule& rule) {
                rule.steps(
                    {.kind = OpKind::kSend, .inputs = {rule.gradient(0)}, .attributes = back_to_peer(rule)});
              }};
}

}  // namespace nadi::inline describe
