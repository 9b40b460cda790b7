// Work and traffic of single ops, small enough for a pencil. Sums over whole models are checked against
// closed forms in parallel/program_summary_test.cpp.

#include <gtest/gtest.h>

#include "nadi/graph/builder.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops.h"

namespace nadi::inline describe {
namespace {

OpCost last_cost(const GraphBuilder& b, const CostContext& context = {}) {
  return cost_of(b.graph(), b.graph().ops().back(), context);
}

TEST(OpCost, MatmulWithBiasAndActivation) {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3, 4}, DType::kF32);
  const TensorId w = b.input("w", {4, 5}, DType::kF32);
  const TensorId bias = b.input("bias", {5}, DType::kF32);
  matmul(b, {.a = x, .b = w, .bias = bias, .activation = Activation::kGeluErf, .save_pre_activation = true});
  const OpCost cost = last_cost(b);
  EXPECT_EQ(cost.matrix.count(), 2 * 6 * 5 * 4);    // 2 m n k
  EXPECT_EQ(cost.vector.count(), 6 * 5 * (1 + 5));  // bias, and 5 for the erf form
  EXPECT_EQ(cost.read.count(), 4 * (24 + 20 + 5));  // each input once
  EXPECT_EQ(cost.written.count(), 4 * (30 + 30));   // the result and what went into the activation
}

TEST(OpCost, MatmulCountsItsBatches) {
  GraphBuilder b;
  const TensorId q = b.input("q", {2, 3, 7, 4}, DType::kBF16);
  const TensorId k = b.input("k", {2, 3, 9, 4}, DType::kBF16);
  matmul(b, {.a = q, .b = k, .transpose_b = true, .batch_axes = 2});
  EXPECT_EQ(b.graph().tensors().back().shape, (Shape{2, 3, 7, 9}));
  EXPECT_EQ(last_cost(b).matrix.count(), 2 * (2 * 3) * 7 * 9 * 4);
}

TEST(OpCost, CausalAttentionCountsPairsOnOrBelowTheDiagonal) {
  GraphBuilder b;
  const TensorId qkv = b.input("qkv", {2, 5, 3 * 8}, DType::kF32);  // 2 heads of width 4
  fused_attention(b, {.q = qkv, .heads = 2, .kv_heads = 2, .causal = true});
  const std::int64_t pairs = 5 * 6 / 2;
  EXPECT_EQ(last_cost(b).matrix.count(), 2 * 2 * 4 * (2 * 2) * pairs);  // two products of 2 D per pair, B * H
}

TEST(OpCost, DecodingReadsTheFilledPartOfTheCache) {
  GraphBuilder b;
  const TensorId q = b.input("q", {1, 1, 8}, DType::kF32);  // 2 heads of width 4
  const TensorId k = b.input("k", {1, 100, 4}, DType::kF32);
  const TensorId v = b.input("v", {1, 100, 4}, DType::kF32);
  const TensorId positions = b.input("positions", {1}, DType::kI32);
  fused_attention(b, {.q = q,
                      .k = k,
                      .v = v,
                      .heads = 2,
                      .kv_heads = 1,
                      .causal = true,
                      .positions = positions,
                      .training = false});
  // At position 9 the query sees keys 0 to 9.
  const OpCost at_9 = last_cost(b, {.position = 9});
  EXPECT_EQ(at_9.matrix.count(), 2 * 2 * 4 * 2 * 10);
  EXPECT_EQ(at_9.read.count(), 4 * 8 + 2 * 4 * (10 * 4) + 4);  // q, ten rows of k and of v, the position
  // Without a position the cache counts as full.
  EXPECT_EQ(last_cost(b).matrix.count(), 2 * 2 * 4 * 2 * 100);
}

TEST(OpCost, EmbeddingReadsOnlyTheRowsLookedUp) {
  GraphBuilder b;
  const TensorId ids = b.input("ids", {2, 3}, DType::kI32);
  const TensorId table = b.input("table", {50000, 8}, DType::kF32);
  embedding(b, ids, table);
  EXPECT_EQ(last_cost(b).read.count(), 6 * 4 + 6 * 8 * 4);
  EXPECT_EQ(last_cost(b).written.count(), 6 * 8 * 4);
}

TEST(OpCost, SamplingWeighsEveryLogit) {
  GraphBuilder b;
  const TensorId next = b.variable({.name = "next", .shape = {2, 1}, .dtype = DType::kI32});
  sample(b, {.logits = b.input("logits", {2, 1, 10}, DType::kBF16),
             .sampling = b.input("sampling", {3}, DType::kF32),
             .random = random_input(b),
             .vocabulary = 9,
             .into = next});
  EXPECT_EQ(last_cost(b).vector.count(), 20 * 5);
  EXPECT_EQ(last_cost(b).read.count(), 20 * 2 + 3 * 4 + 3 * 8);
  EXPECT_EQ(last_cost(b).written.count(), 2 * 4);
}

TEST(OpCost, SgdSaiReadsAndWritesItsMomentumAndOneScale) {
  for (const bool momentum : {false, true}) {
    GraphBuilder b;
    sgd_sai(b, {.update = {.parameter = b.parameter("p", {10}, DType::kBF16, {}),
                           .gradient = b.input("g", {10}, DType::kF32),
                           .master = b.variable({.name = "master", .shape = {10}}),
                           .learning_rate = b.input("learning_rate", {}, DType::kF32)},
                .momentum_buffer = momentum ? b.variable({.name = "u", .shape = {10}}) : kNoTensor,
                .lr_scale = b.variable({.name = "s", .shape = {1}})});
    EXPECT_EQ(last_cost(b).vector.count(), 10 * (momentum ? 7 : 4));
    // Gradient, master, momentum, the rate and its scale; the rounded parameter is only written.
    EXPECT_EQ(last_cost(b).read.count(), 4 * (10 + 10 + (momentum ? 10 : 0) + 1 + 1));
    EXPECT_EQ(last_cost(b).written.count(), 2 * 10 + 4 * (10 + (momentum ? 10 : 0) + 1));
  }
}

TEST(OpCost, CountersAreReadAndWritten) {
  GraphBuilder b;
  const auto counter = [&](const char* name) {
    return b.variable({.name = name, .dtype = DType::kI64, .role = Role::kCounter});
  };
  next_update(b, {.updates = counter("updates"),
                  .schedule_position = counter("position"),
                  .skipped_updates = counter("skipped"),
                  .schedule_advance = b.input("advance", {}, DType::kI64),
                  .found_inf = b.input("found_inf", {}, DType::kF32)});
  EXPECT_EQ(last_cost(b).read.count(), 4 * 8 + 4);
  // Learning rate, update number, decay factor, and the three counters.
  EXPECT_EQ(last_cost(b).written.count(), 4 + 8 + 4 + 3 * 8);
  advance(b, b.variable({.name = "positions", .shape = {5}, .dtype = DType::kI32}), 1);
  EXPECT_EQ(last_cost(b).read.count(), 5 * 4);
  EXPECT_EQ(last_cost(b).written.count(), 5 * 4);
}

TEST(OpCost, AddingToAVariableReadsItToo) {
  GraphBuilder b;
  const TensorId x = b.input("x", {10}, DType::kBF16);
  const TensorId sum = b.variable({.name = "sum", .shape = {10}});
  b.add({.kind = OpKind::kCopy, .inputs = {x}, .into = {{sum, true}}});
  EXPECT_EQ(last_cost(b).read.count(), 10 * 2 + 10 * 4);
  EXPECT_EQ(last_cost(b).written.count(), 10 * 4);
  EXPECT_EQ(last_cost(b).vector.count(), 10);
}

TEST(OpCost, ViewsAreFree) {
  GraphBuilder b;
  const TensorId x = b.input("x", {4, 6}, DType::kF32);
  reshape(b, x, {24});
  const OpCost cost = last_cost(b);
  EXPECT_EQ(cost.flops(), Flops{0});
  EXPECT_EQ(cost.moved(), Bytes{0});
}

TEST(OpCost, CollectivesSendTheirInput) {
  GraphBuilder b;
  const TensorId x = b.input("x", {4, 6}, DType::kBF16);
  all_gather(b, x, {"tp", 8}, 1);
  EXPECT_EQ(b.graph().tensors().back().shape, (Shape{4, 48}));
  EXPECT_EQ(last_cost(b).sent.count(), 24 * 2);
}

TEST(Rotary, StretchesLongWavelengthsAsLlama31Does) {
  // theta = 500000, D = 128: wavelength of pair i is 2 pi theta^(2i/128).
  const RotaryFrequencies llama{.theta = 500000,
                                .factor = 8,
                                .low_frequency_factor = 1,
                                .high_frequency_factor = 4,
                                .original_positions = 8192};
  const RotaryFrequencies plain{.theta = 500000};
  const std::vector<double> stretched = llama.values(128);
  const std::vector<double> original = plain.values(128);
  ASSERT_EQ(stretched.size(), 64u);
  EXPECT_EQ(stretched[0], 1.0);                       // wavelength 6.3 < 8192 / 4: unchanged
  EXPECT_DOUBLE_EQ(stretched[63], original[63] / 8);  // wavelength 2.6e6 > 8192: slowed down
  // In between the factor goes from 1 to 8 without a jump.
  for (int i = 0; i < 64; ++i) {
    const double slowed = original[i] / stretched[i];
    EXPECT_GE(slowed, 1 - 1e-12);
    EXPECT_LE(slowed, 8 + 1e-12);
    EXPECT_LE(stretched[i], i > 0 ? stretched[i - 1] : 1.0);
  }
}

}  // namespace
}  // namespace nadi::inline describe
