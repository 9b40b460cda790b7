// What each op computes, on numbers that a pencil can check.
#include "nadi/reference/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "nadi/base/error.h"
#include "nadi/graph/ops.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {
namespace {

using testing::ElementsAre;
using testing::Pointwise;

MATCHER_P(IsAbout, expected, "") {
  return testing::ExplainMatchResult(Pointwise(testing::DoubleNear(1e-12), Doubles(expected)), arg,
                                     result_listener);
}

TEST(Matmul, MultipliesRowsByColumns) {
  // [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50]
  Problem p;
  const TensorId a = p.input("a", Shape{2, 2}, {1, 2, 3, 4});
  const TensorId b = p.input("b", Shape{2, 2}, {5, 6, 7, 8});
  p.output(matmul(p.builder, {.a = a, .b = b}));
  p.output(matmul(p.builder, {.a = a, .b = b, .bias = p.input("bias", Shape{2}, {1, -1}), .alpha = 2}));
  // [1 3; 2 4] [5 6; 7 8] and [1 2; 3 4] [5 7; 6 8]
  p.output(matmul(p.builder, {.a = a, .b = b, .transpose_a = true}));
  p.output(matmul(p.builder, {.a = a, .b = b, .transpose_b = true}));
  EXPECT_THAT(p.run(), ElementsAre(Doubles{19, 22, 43, 50}, Doubles{39, 43, 87, 99}, Doubles{26, 30, 38, 44},
                                   Doubles{17, 23, 39, 53}));
}

TEST(Matmul, ScalesFp8BackToValues) {
  Problem p;
  const QuantizedTensor a = quantize_fp8(p.builder, p.input("a", Shape{1, 2}, {1, 2}), DType::kF8E4M3);
  const QuantizedTensor b = quantize_fp8(p.builder, p.input("b", Shape{2, 1}, {3, 4}), DType::kF8E4M3);
  p.output(matmul(p.builder, {.a = a.values, .b = b.values, .a_scale = a.scale, .b_scale = b.scale}));
  p.output(matmul(p.builder, {.a = a.values,
                              .b = b.values,
                              .a_scale = p.scalar("a_scale", 10),
                              .b_scale = p.scalar("b_scale", 0.5)}));
  EXPECT_THAT(p.run(), ElementsAre(Doubles{11}, Doubles{55}));
}

TEST(Gelu, HasItsTwoForms) {
  Problem p;
  const TensorId x = p.input("x", Shape{2}, {0, 1});
  p.output(gelu(p.builder, x, Activation::kGeluErf));
  p.output(gelu(p.builder, x, Activation::kGeluTanh));
  const std::vector<Doubles> y = p.run();
  EXPECT_THAT(y[0], IsAbout(Doubles{0, 0.5 * (1 + std::erf(1 / std::numbers::sqrt2))}));
  EXPECT_THAT(y[1], IsAbout(Doubles{0, 0.5 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * 1.044715))}));
}

TEST(Swiglu, GatesWithSilu) {
  // silu(0) = 0, silu(ln 3) = ln 3 * 3/4
  Problem p;
  p.output(swiglu(p.builder, p.input("gate", Shape{2}, {0, std::log(3)}), p.input("up", Shape{2}, {5, 4})));
  EXPECT_THAT(p.run()[0], IsAbout(Doubles{0, 3 * std::log(3)}));
}

TEST(LayerNorm, CentersAndScales) {
  // Mean 2, variance 2/3; with epsilon 1/3 the deviation is 1.
  Problem p;
  p.output(layer_norm(p.builder, {.x = p.input("x", Shape{1, 3}, {1, 2, 3}),
                                  .weight = p.input("weight", Shape{3}, {1, 2, 3}),
                                  .bias = p.input("bias", Shape{3}, {10, 20, 30}),
                                  .epsilon = 1.0 / 3}));
  p.output(*p.builder.graph().find_tensor("layer_norm:1"));
  p.output(*p.builder.graph().find_tensor("layer_norm:2"));
  const std::vector<Doubles> y = p.run();
  EXPECT_THAT(y[0], IsAbout(Doubles{9, 20, 33}));
  EXPECT_THAT(y[1], IsAbout(Doubles{2}));
  EXPECT_THAT(y[2], IsAbout(Doubles{1}));
}

TEST(RmsNorm, DividesByTheRoot) {
  // Mean square (9 + 16) / 2 = 12.5; with epsilon 12.5 the root is 5.
  Problem p;
  p.output(rms_norm(p.builder, {.x = p.input("x", Shape{1, 2}, {3, 4}),
                                .weight = p.input("weight", Shape{2}, {1, 10}),
                                .epsilon = 12.5}));
  p.output(*p.builder.graph().find_tensor("rms_norm:1"));
  const std::vector<Doubles> y = p.run();
  EXPECT_THAT(y[0], IsAbout(Doubles{0.6, 8}));
  EXPECT_THAT(y[1], IsAbout(Doubles{0.2}));
}

TEST(Softmax, SeesUpToTheQueryAndTheLength) {
  // Scores 0, ln 2, ln 3 weigh 1 : 2 : 3.
  Problem p;
  const double ln2 = std::log(2), ln3 = std::log(3);
  const TensorId x = p.input("x", Shape{1, 1, 3, 3}, {0, ln2, ln3, 0, ln2, ln3, 0, ln2, ln3});
  p.output(softmax(p.builder, {.x = x, .causal = true}));
  p.output(softmax(p.builder, {.x = x, .lengths = p.integers("lengths", Shape{1}, {1})}));
  const std::vector<Doubles> y = p.run();
  EXPECT_THAT(y[0], IsAbout(Doubles{1, 0, 0, 1.0 / 3, 2.0 / 3, 0, 1.0 / 6, 2.0 / 6, 3.0 / 6}));
  EXPECT_THAT(y[1], IsAbout(Doubles{1, 0, 0, 1, 0, 0, 1, 0, 0}));
}

TEST(Rotary, TurnsByPositionTimesFrequency) {
  // D = 4 with theta 100 has frequencies 1 and 0.1; elements 0 and 2, and 1 and 3, turn together. The token
  // stands at 3 + 0.
  Problem p;
  p.output(rotary(p.builder, {.x = p.input("x", Shape{1, 1, 4}, {1, 0, 0, 1}),
                              .positions = p.integers("positions", Shape{1}, {3}),
                              .frequencies = {.theta = 100}}));
  EXPECT_THAT(p.run()[0], IsAbout(Doubles{std::cos(3), -std::sin(0.3), std::sin(3), std::cos(0.3)}));
}

TEST(Add, RepeatsTheShorterOperand) {
  Problem p;
  p.output(add(p.builder, p.input("a", Shape{2, 2}, {1, 2, 3, 4}), p.input("b", Shape{2}, {10, 20})));
  EXPECT_EQ(p.run()[0], (Doubles{11, 22, 13, 24}));
}

TEST(Dropout, CountsFromTheGlobalBatch) {
  Problem p;
  const auto scope = p.builder.in_layer("h.0");
  p.output(dropout(p.builder, {.x = p.input("x", Shape{2, 3}, Doubles(6, 1.0)),
                               .random = p.random(4),
                               .rate = 0.5,
                               .purpose = "mlp"}));
  const RandomKey key{.seed = 7, .step = 3, .site = site_of("h.0/mlp")};
  Doubles expected;
  for (std::uint64_t i = 0; i < 6; ++i) expected.push_back(random_uniform(key, 4 * 3 + i) >= 0.5F ? 2 : 0);
  EXPECT_EQ(p.run()[0], expected);
}

TEST(Views, MoveElements) {
  Problem p;
  const TensorId x = p.input("x", Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  p.output(permute(p.builder, x, {1, 0}));
  const std::array<std::int64_t, 2> extents{1, 2};
  for (const TensorId part : split(p.builder, x, 1, extents)) p.output(part);
  const std::array<TensorId, 2> twice{x, x};
  p.output(concat(p.builder, twice, 1));
  EXPECT_THAT(p.run(), ElementsAre(Doubles{1, 4, 2, 5, 3, 6}, Doubles{1, 4}, Doubles{2, 3, 5, 6},
                                   Doubles{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
}

TEST(RepeatHeads, RepeatsEachHead) {
  Problem p;
  p.output(repeat_heads(p.builder, p.input("x", Shape{1, 2, 1, 2}, {1, 2, 3, 4}), 2));
  EXPECT_EQ(p.run()[0], (Doubles{1, 2, 1, 2, 3, 4, 3, 4}));
}

TEST(Embedding, LooksRowsUp) {
  Problem p;
  p.output(embedding(p.builder, p.integers("ids", Shape{3}, {2, 0, 2}),
                     p.input("table", Shape{3, 2}, {1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(p.run()[0], (Doubles{5, 6, 1, 2, 5, 6}));
}

TEST(CrossEntropy, AveragesOverTheTokensThatCount) {
  // Scores 0, ln 2, ln 3 weigh 1 : 2 : 3. Rows: target 2 costs -ln(3/6) = ln 2; the second is ignored; with a
  // vocabulary of 2 the first row's target 1 costs -ln(2/3).
  const double ln2 = std::log(2), ln3 = std::log(3);
  Problem p;
  const TensorId logits = p.input("logits", Shape{2, 3}, {0, ln2, ln3, 9, 9, 9});
  p.output(cross_entropy(p.builder, {.logits = logits,
                                     .targets = p.integers("targets", Shape{2}, {2, kIgnoredTarget}),
                                     .count = p.scalar("count", 4)}));
  p.output(*p.builder.graph().find_tensor("cross_entropy:1"));
  p.output(cross_entropy(p.builder, {.logits = logits,
                                     .targets = p.integers("padded", Shape{2}, {1, kIgnoredTarget}),
                                     .count = p.scalar("one", 1),
                                     .vocabulary = 2}));
  const std::vector<Doubles> y = p.run();
  EXPECT_THAT(y[0], IsAbout(Doubles{ln2 / 4}));
  EXPECT_THAT(y[1], IsAbout(Doubles{std::log(6), 9 + ln3}));
  EXPECT_THAT(y[2], IsAbout(Doubles{std::log(1.5)}));
}

TEST(Argmax, TakesTheFirstLargestOfTheVocabulary) {
  Problem p;
  const TensorId next =
      p.builder.variable({.name = "next", .shape = Shape{2}, .dtype = DType::kI32, .role = Role::kMetric});
  argmax(p.builder,
         {.logits = p.input("logits", Shape{2, 4}, {1, 3, 3, 9, 5, 4, 3, 9}), .vocabulary = 3, .into = next});
  p.run();
  EXPECT_EQ(p.store.get("next"), (Doubles{1, 0}));
}

TEST(SelectLastRows, TakesTheRowOfTheLength) {
  Problem p;
  p.output(select_last_rows(p.builder, p.input("x", Shape{2, 2, 1}, {1, 2, 3, 4}),
                            p.integers("lengths", Shape{2}, {1, 2})));
  EXPECT_EQ(p.run()[0], (Doubles{1, 4}));
  p.store.set("lengths", {0, 2});
  EXPECT_THROW(p.run(), Error);
}

TEST(CacheWrite, ReplacesRowsFromThePosition) {
  Problem p;
  p.store.set("cache", {1, 2, 3, 4, 5, 6});
  const TensorId cache = p.builder.variable({.name = "cache", .shape = Shape{2, 3, 1}, .role = Role::kCache});
  cache_write(p.builder, {.cache = cache,
                          .rows = p.input("rows", Shape{2, 2, 1}, {10, 20, 30, 40}),
                          .positions = p.integers("positions", Shape{2}, {0, 1})});
  p.run();
  EXPECT_EQ(p.store.get("cache"), (Doubles{10, 20, 3, 4, 30, 40}));
  p.store.set("positions", {0, 2});
  EXPECT_THROW(p.run(), Error);
}

TEST(Advance, MovesEveryElementOn) {
  Problem p;
  p.store.set("positions", {3, 7});
  const TensorId positions = p.builder.variable(
      {.name = "positions", .shape = Shape{2}, .dtype = DType::kI32, .role = Role::kCounter});
  advance(p.builder, positions, 2);
  p.run();
  EXPECT_EQ(p.store.get("positions"), (Doubles{5, 9}));
  EXPECT_THROW(advance(p.builder, p.normal_input("x", Shape{2}), 1), Error);
}

}  // namespace
}  // namespace nadi::inline engines
