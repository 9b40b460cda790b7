#include "nadi/graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "nadi/base/error.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops.h"

namespace nadi::inline describe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.message();
  }
  return "(no error)";
}

TEST(OpTable, EveryOpIsDefinedOnceAndCompletely) {
  std::set<std::string_view> names;
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    const OpDefinition& def = definition(OpKind{static_cast<std::uint8_t>(kind)});
    EXPECT_TRUE(names.insert(def.name).second) << def.name;
    EXPECT_NE(def.infer, nullptr) << def.name;
    // A rule says what it saves, and is not also transparent.
    EXPECT_EQ(def.gradient != nullptr, def.saves != nullptr) << def.name;
    EXPECT_FALSE(def.gradient != nullptr && def.straight_through) << def.name;
    EXPECT_LT(def.in_place_input, static_cast<int>(def.inputs.size())) << def.name;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kOpKindCount));
}

TEST(GraphBuilder, NamesOpsAfterTheirLayer) {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3}, DType::kF32);
  const auto block = b.in_block(7);
  const auto layer = b.in_layer("h.7");
  add(b, x, x);
  {
    const auto inner = b.in_layer("mlp");
    add(b, x, x);
    add(b, x, x);
  }
  const Graph graph = b.take();
  EXPECT_EQ(graph.ops()[0].name, "h.7.add");
  EXPECT_EQ(graph.ops()[1].name, "h.7.mlp.add");
  EXPECT_EQ(graph.ops()[2].name, "h.7.mlp.add_2");
  EXPECT_EQ(graph.layer(graph.ops()[2].layer), "h.7.mlp");
  EXPECT_EQ(graph.ops()[2].block, 7);
  EXPECT_EQ(graph.tensor(graph.ops()[2].outputs[0].tensor).name, "h.7.mlp.add_2");
}

TEST(GraphBuilder, RefusesShapesThatDoNotFit) {
  GraphBuilder b;
  const TensorId x = b.input("x", {4, 512, 768}, DType::kF32);
  const TensorId w = b.input("w", {767, 64}, DType::kF32);
  EXPECT_EQ(
      message_of([&] { matmul(b, {.a = x, .b = w}); }),
      "op 'matmul' (matmul): inner extents 768 and 767 differ; inputs: x f32[4, 512, 768], w f32[767, 64], "
      "-, -, -");
  const TensorId half = b.input("half", {768, 64}, DType::kBF16);
  EXPECT_THAT(message_of([&] { matmul(b, {.a = x, .b = half}); }), HasSubstr("differ in element type"));
  EXPECT_THAT(message_of([&] { matmul(b, {.a = x}); }), HasSubstr("input 'b' is missing"));
  const TensorId bias = b.input("bias", {63}, DType::kF32);
  const TensorId good = b.input("good", {768, 64}, DType::kF32);
  EXPECT_THAT(message_of([&] { matmul(b, {.a = x, .b = good, .bias = bias}); }),
              HasSubstr("bias must have shape [64]"));
  EXPECT_THAT(message_of([&] { fused_attention(b, {.q = x, .heads = 5, .kv_heads = 5}); }),
              HasSubstr("packed width 768 is not a multiple of 15 heads"));
  EXPECT_THAT(message_of([&] { fused_attention(b, {.q = x, .heads = 5, .kv_heads = 2}); }),
              HasSubstr("5 heads are not a multiple of 2 key-value heads"));
  EXPECT_THAT(message_of([&] { reshape(b, x, {4, 500, 768}); }), HasSubstr("another number of elements"));
  EXPECT_THAT(message_of([&] {
                reduce_scatter(b, x, {"tp", 3}, 0);
              }),
              HasSubstr("an extent of 4 does not divide over 3 ranks"));
}

TEST(GraphBuilder, RefusesUnknownAndMistypedAttributes) {
  GraphBuilder b;
  const TensorId x = b.input("x", {4, 4}, DType::kF32);
  EXPECT_THAT(message_of([&] {
                b.add({.kind = OpKind::kMatmul, .inputs = {x, x}, .attributes = {{"transpose_c", true}}});
              }),
              HasSubstr("has no attribute 'transpose_c'"));
  EXPECT_THAT(message_of([&] {
                b.add({.kind = OpKind::kMatmul, .inputs = {x, x}, .attributes = {{"transpose_b", 1.0}}});
              }),
              HasSubstr("is boolean, not real"));
}

TEST(GraphBuilder, RefusesTwoTensorsOfOneName) {
  GraphBuilder b;
  b.input("x", {4}, DType::kF32);
  EXPECT_THAT(message_of([&] { b.input("x", {4}, DType::kF32); }),
              HasSubstr("already has a tensor named 'x'"));
}

TEST(Views, AViewWithGapsIsNotReshapedAcrossThem) {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3, 12}, DType::kF32);
  const std::vector<TensorId> parts = split(b, x, 2, std::array<std::int64_t, 3>{4, 4, 4});
  // Within the last axis it can: [2, 3, 4] at strides 36, 12, 1 becomes [2, 3, 2, 2].
  const TensorId heads = reshape(b, parts[1], {2, 3, 2, 2});
  const Layout layout = layout_of(b.graph(), heads);
  EXPECT_EQ(layout.root, x);
  EXPECT_EQ(layout.offset, 4);
  EXPECT_THAT(layout.strides, ElementsAre(36, 12, 2, 1));
  EXPECT_FALSE(is_contiguous({2, 3, 2, 2}, layout.strides));
  // Across the gap it cannot.
  EXPECT_THAT(message_of([&] { reshape(b, parts[1], {2, 12}); }), HasSubstr("copy it first"));
  // Heads first, then [2, 2, 3, 2] at strides 36, 2, 12, 1.
  EXPECT_THAT(layout_of(b.graph(), permute(b, heads, {0, 2, 1, 3})).strides, ElementsAre(36, 2, 12, 1));
}

TEST(GraphBuilder, MovesOpsBehindOthersThatDoNotReadThem) {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{4, 4}, DType::kF32);
  const TensorId first = gelu(b, x, Activation::kGeluTanh);
  const TensorId second = gelu(b, first, Activation::kGeluTanh);
  gelu(b, first, Activation::kGeluTanh);
  const std::string late = b.graph().ops()[1].name;  // makes `second`, which nobody reads
  b.move_behind(1, [&](const Op& op) { return op.name == late; });
  const Graph graph = b.take();
  EXPECT_EQ(graph.ops()[2].name, late);
  EXPECT_EQ(graph.tensor(second).producer, OpId{2});
  EXPECT_EQ(graph.tensor(first).producer, OpId{0});
}

}  // namespace
}  // namespace nadi::inline describe
