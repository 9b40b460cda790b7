// Chains of ops as models build them, which the CUDA engine computes in one kernel each: they run op by op
// and fused, against the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "nadi/base/format.h"
#include "nadi/cuda/fusing.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines::cuda {
namespace {

using testing::ElementsAre;

constexpr DType kStorage[]{DType::kF32, DType::kBF16, DType::kF16};

std::vector<FusedKind> kinds_of(const Problem& p) {
  Program program;
  program.graphs.push_back(p.builder.graph());
  program.sections.push_back({.name = "all",
                              .graph = 0,
                              .first_op = 0,
                              .end_op = static_cast<std::uint32_t>(p.builder.graph().ops().size())});
  std::vector<FusedKind> kinds;
  for (const FusedOps& ops : fused_ops(program, 0, {})) kinds.push_back(ops.kind);
  return kinds;
}

// The whole graph becomes one kernel of this kind, and computes what the reference does.
void expect_fused(const Problem& p, FusedKind kind) {
  EXPECT_THAT(kinds_of(p), ElementsAre(kind));
  expect_same_as_reference(p);
}

struct Rows {
  std::int64_t batch, tokens, width;

  Shape shape() const { return Shape{batch, tokens, width}; }
  std::string to_string(DType dtype) const {
    return format("{} x {} x {} {}", batch, tokens, width, nadi::to_string(dtype));
  }
};
constexpr Rows kRows[]{{1, 1, 1}, {2, 5, 7}, {2, 33, 64}, {3, 43, 768}, {2, 9, 1023}, {1, 3, 4096}};

template <class Check>
void for_all_rows(const Check& check) {
  for (const DType dtype : kStorage)
    for (const Rows& rows : kRows) {
      SCOPED_TRACE(rows.to_string(dtype));
      check(rows, dtype);
    }
}

enum class Norm { kLayer, kRms };

TensorId add_norm(Problem& p, Norm norm, TensorId x, DType dtype) {
  const Shape width{p.builder.shape(x)[p.builder.shape(x).rank() - 1]};
  const TensorId weight = p.parameter("weight", width, dtype);
  if (norm == Norm::kRms) return rms_norm(p.builder, {.x = x, .weight = weight});
  return layer_norm(p.builder, {.x = x, .weight = weight, .bias = p.parameter("bias", width, dtype)});
}

void check_residual_norm(Norm norm, bool with_dropout) {
  for_all_rows([&](const Rows& rows, DType dtype) {
    Problem p;
    TensorId x = p.parameter("x", rows.shape(), dtype);
    const TensorId residual = p.parameter("residual", rows.shape(), dtype);
    if (with_dropout)
      x = dropout(p.builder, {.x = x, .random = p.random(3), .rate = 0.1, .purpose = "residual"});
    const TensorId sum = add(p.builder, residual, x);
    p.output(sum);
    p.output(add_norm(p, norm, sum, dtype));
    expect_fused(p, FusedKind::kResidualNorm);
  });
}

TEST(ResidualNorm, AddsBeforeLayerNorm) {
  check_residual_norm(Norm::kLayer, false);
}
TEST(ResidualNorm, DropsAndAddsBeforeLayerNorm) {
  check_residual_norm(Norm::kLayer, true);
}
TEST(ResidualNorm, AddsBeforeRmsNorm) {
  check_residual_norm(Norm::kRms, false);
}
TEST(ResidualNorm, DropsAndAddsBeforeRmsNorm) {
  check_residual_norm(Norm::kRms, true);
}

// Llama's weights may be in another type than its activations.
TEST(ResidualNorm, TakesWeightsOfAnotherType) {
  Problem p;
  const Shape shape{2, 5, 96};
  const TensorId sum =
      add(p.builder, p.parameter("residual", shape, DType::kBF16), p.parameter("x", shape, DType::kBF16));
  add_norm(p, Norm::kRms, sum, DType::kF32);
  expect_fused(p, FusedKind::kResidualNorm);
}

struct GradCase {
  bool add = false, dropout = false, sum = false;
  bool accumulate = false;  // gradients of weight and bias, and the sum
};
constexpr GradCase kGradCases[]{{.add = true},
                                {.add = true, .accumulate = true},
                                {.add = true, .dropout = true},
                                {.add = true, .sum = true},
                                {.add = true, .dropout = true, .sum = true},
                                {.add = true, .dropout = true, .sum = true, .accumulate = true},
                                {.dropout = true, .sum = true},
                                {.sum = true}};

void check_norm_grad(Norm norm, const GradCase& c, const Rows& rows, DType dtype) {
  SCOPED_TRACE(format("add {}, dropout {}, sum {}, accumulate {}", c.add, c.dropout, c.sum, c.accumulate));
  Problem p;
  const Shape width{rows.width};
  const TensorId x = p.parameter("x", rows.shape(), dtype);
  const TensorId weight = p.parameter("weight", width, dtype);
  const TensorId dy = p.parameter("dy", rows.shape(), dtype);
  const TensorId scale = p.normal_input("scale", Shape{rows.batch, rows.tokens});
  const auto gradient = [&](const std::string& name) {
    return c.accumulate ? OpOutput{p.parameter(name, width), true} : OpOutput{p.parameter(name, width)};
  };
  TensorId dx = kNoTensor;
  if (norm == Norm::kLayer) {
    const TensorId mean = p.normal_input("mean", Shape{rows.batch, rows.tokens});
    dx = p.builder.add_one({.kind = OpKind::kLayerNormGrad,
                            .inputs = {x, weight, mean, scale, dy},
                            .into = {{}, gradient("dweight"), gradient("dbias")}});
  } else {
    dx = p.builder.add_one(
        {.kind = OpKind::kRmsNormGrad, .inputs = {x, weight, scale, dy}, .into = {{}, gradient("dweight")}});
  }
  if (c.add) dx = add(p.builder, dx, p.parameter("residual", rows.shape(), dtype));
  if (c.dropout)
    dx = dropout(p.builder, {.x = dx, .random = p.random(3), .rate = 0.1, .purpose = "residual"});
  if (c.sum)
    p.builder.add({.kind = OpKind::kSumRows,
                   .inputs = {dx},
                   .attributes = {{"kept_axes", std::int64_t{1}}},
                   .into = {gradient("sum")}});
  expect_fused(p, FusedKind::kNormGradSum);
}

void check_norm_grads(Norm norm, const GradCase& c) {
  for_all_rows([&](const Rows& rows, DType dtype) { check_norm_grad(norm, c, rows, dtype); });
}

TEST(NormGradSum, OfLayerNorm) {
  for (const GradCase& c : kGradCases) check_norm_grads(Norm::kLayer, c);
}
TEST(NormGradSum, OfRmsNorm) {
  for (const GradCase& c : kGradCases) check_norm_grads(Norm::kRms, c);
}

// So many that every warp goes through several, with others under way.
TEST(NormGradSum, OfManyRows) {
  for (const Rows& rows : {Rows{1, 5003, 768}, Rows{1, 7001, 64}, Rows{1, 1999, 2048}}) {
    check_norm_grad(Norm::kLayer, {.add = true, .sum = true}, rows, DType::kBF16);
    check_norm_grad(Norm::kRms, {.add = true}, rows, DType::kBF16);
  }
  check_norm_grad(Norm::kLayer, {.sum = true}, {1, 5003, 768}, DType::kBF16);
  check_norm_grad(Norm::kLayer, {.sum = true}, {1, 5003, 768}, DType::kF32);
  check_norm_grad(Norm::kLayer, {.sum = true}, {1, 5003, 768}, DType::kF16);
}

void check_gelu_grad_sums(const Rows& rows, DType dtype) {
  for (const Activation form : {Activation::kGeluTanh, Activation::kGeluErf})
    for (const bool accumulate : {false, true}) {
      Problem p;
      const TensorId dx = p.builder.add_one(
          {.kind = OpKind::kGeluGrad,
           .inputs = {p.parameter("x", rows.shape(), dtype), p.parameter("dy", rows.shape(), dtype)},
           .attributes = {{"form", std::string(to_string(form))}}});
      p.builder.add({.kind = OpKind::kSumRows,
                     .inputs = {dx},
                     .attributes = {{"kept_axes", std::int64_t{1}}},
                     .into = {{p.parameter("sum", Shape{rows.width}), accumulate}}});
      expect_fused(p, FusedKind::kGeluGradSums);
    }
}

TEST(GeluGradSums, IsTheReference) {
  for_all_rows(check_gelu_grad_sums);
}

// What has many rows or columns is summed in two stages.
TEST(GeluGradSums, AreTakenInParts) {
  for (const DType dtype : kStorage)
    for (const Rows& rows : {Rows{3, 701, 40}, Rows{1, 2100, 9}, Rows{1, 150, 2304}})
      check_gelu_grad_sums(rows, dtype);
}

Doubles ids_of(std::int64_t count, std::int64_t rows) {
  Doubles ids(count);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<double>(i * 7 % static_cast<std::size_t>(rows));
  return ids;
}

void check_loss_grad_sums(const Rows& rows, DType dtype) {
  for (const bool padded : {false, true})
    for (const bool accumulate : {false, true}) {
      const std::int64_t vocabulary = padded ? rows.width - rows.width / 3 : rows.width;
      Doubles targets = ids_of(rows.batch * rows.tokens, vocabulary);
      for (std::size_t i = 3; i < targets.size(); i += 5) targets[i] = static_cast<double>(kIgnoredTarget);
      Problem p;
      const TensorId gradient = p.builder.add_one(
          {.kind = OpKind::kCrossEntropyGrad,
           .inputs = {p.parameter("logits", rows.shape(), dtype),
                      p.integers("targets", Shape{rows.batch, rows.tokens}, targets), p.scalar("count", 7),
                      p.normal_input("statistics", Shape{rows.batch, rows.tokens}), p.scalar("dloss", 3)},
           .attributes = {{"vocabulary", vocabulary}}});
      p.output(gradient);
      p.builder.add({.kind = OpKind::kSumRows,
                     .inputs = {gradient},
                     .attributes = {{"kept_axes", std::int64_t{1}}},
                     .into = {{p.parameter("sum", Shape{rows.width}), accumulate}}});
      expect_fused(p, FusedKind::kLossGradSums);
    }
}

TEST(LossGradSums, IsTheReference) {
  for_all_rows(check_loss_grad_sums);
  for (const DType dtype : kStorage)
    for (const Rows& rows : {Rows{3, 701, 40}, Rows{1, 2100, 9}, Rows{1, 150, 2304}, Rows{2, 70, 3001}})
      check_loss_grad_sums(rows, dtype);
}

TEST(MatmulAdd, IsTheReference) {
  for (const DType dtype : kStorage)
    for (const Rows& rows : {Rows{2, 33, 64}, Rows{3, 5, 7}, Rows{1, 130, 1023}})
      for (const bool transpose : {false, true}) {
        SCOPED_TRACE(rows.to_string(dtype));
        Problem p;
        const TensorId weight =
            p.parameter("weight", transpose ? Shape{rows.width, 48} : Shape{48, rows.width}, dtype);
        const TensorId product =
            matmul(p.builder, {.a = p.parameter("x", Shape{rows.batch, rows.tokens, 48}, dtype),
                               .b = weight,
                               .transpose_b = transpose});
        add(p.builder, p.parameter("residual", rows.shape(), dtype), product);
        expect_fused(p, FusedKind::kMatmulAdd);
      }
}

TEST(EmbeddingsSum, OfTwoAndOfThree) {
  for_all_rows([](const Rows& rows, DType dtype) {
    for (const bool three : {false, true}) {
      Problem p;
      const Shape tokens{rows.batch, rows.tokens};
      const TensorId ids = p.integers("ids", tokens, ids_of(tokens.elements(), 31));
      // Positions have one row for all sequences, as GPT-2 has it.
      const TensorId positions = p.integers("positions", Shape{rows.tokens}, ids_of(rows.tokens, 50));
      const TensorId word = embedding(p.builder, ids, p.parameter("wte", Shape{31, rows.width}, dtype));
      const TensorId place =
          embedding(p.builder, positions, p.parameter("wpe", Shape{50, rows.width}, dtype));
      TensorId sum = add(p.builder, word, place);
      if (three) {
        const TensorId types = p.integers("types", tokens, ids_of(tokens.elements(), 2));
        const TensorId type = embedding(p.builder, types, p.parameter("tte", Shape{2, rows.width}, dtype));
        sum = add(p.builder, sum, type);
      }
      p.output(sum);
      expect_fused(p, FusedKind::kEmbeddingsSum);
    }
  });
}

// Decoding: 1 to 8 rows.

struct DecodeCase {
  std::int64_t rows, width, heads, kv_heads, head_width;
};
constexpr DecodeCase kDecodeCases[]{{1, 64, 4, 2, 16},  {1, 768, 12, 4, 64}, {2, 96, 3, 1, 32},
                                    {3, 100, 2, 2, 10}, {4, 256, 4, 4, 64},  {7, 33, 1, 1, 6},
                                    {8, 256, 4, 2, 64}};

template <class Check>
void for_all_decode_cases(const Check& check) {
  for (const DType dtype : kStorage)
    for (const DecodeCase& c : kDecodeCases) {
      SCOPED_TRACE(format("{} rows of {}, {} heads, {}", c.rows, c.width, c.heads, to_string(dtype)));
      check(c, dtype);
    }
}

TensorId linear(Problem& p, TensorId x, const std::string& name, std::int64_t outputs, DType dtype,
                bool bias = false) {
  const std::int64_t inputs = p.builder.shape(x)[p.builder.shape(x).rank() - 1];
  // Sized so that the results stay near 1.
  const TensorId weight = p.parameter(name, Shape{outputs, inputs}, dtype);
  for (double& value : p.store[name]) value /= 16;
  return matmul(p.builder, {.a = x,
                            .b = weight,
                            .bias = bias ? p.parameter(name + ".bias", Shape{outputs}, dtype) : kNoTensor,
                            .transpose_b = true});
}

TEST(NormProducts, OfLlamasAttention) {
  for_all_decode_cases([](const DecodeCase& c, DType dtype) {
    Problem p;
    const TensorId x = p.parameter("x", Shape{c.rows, 1, c.width}, dtype);
    Doubles at(c.rows);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<double>(3 + 100 * i);
    const TensorId positions = p.integers("positions", Shape{c.rows}, at);
    const TensorId normed = add_norm(p, Norm::kRms, x, dtype);
    const TensorId q = linear(p, normed, "q", c.heads * c.head_width, dtype);
    p.output(rotary(p.builder, {.x = q, .positions = positions, .heads = c.heads}));
    const TensorId k = linear(p, normed, "k", c.kv_heads * c.head_width, dtype);
    p.output(rotary(p.builder, {.x = k, .positions = positions, .heads = c.kv_heads}));
    p.output(linear(p, normed, "v", c.kv_heads * c.head_width, dtype));
    expect_fused(p, FusedKind::kNormProducts);
  });
}

TEST(NormProducts, OfGpt2sAttentionWithBias) {
  for_all_decode_cases([](const DecodeCase& c, DType dtype) {
    Problem p;
    const TensorId x = p.parameter("x", Shape{c.rows, 1, c.width}, dtype);
    p.output(linear(p, add_norm(p, Norm::kLayer, x, dtype), "qkv", 3 * c.width, dtype, true));
    expect_fused(p, FusedKind::kNormProducts);
  });
}

// Keys and values go to their caches at once: three tokens of each of two sequences, at different places.
TEST(NormProducts, IntoCaches) {
  for (const DType dtype : kStorage) {
    SCOPED_TRACE(to_string(dtype));
    Problem p;
    const TensorId x = p.parameter("x", Shape{2, 3, 64}, dtype);
    const TensorId positions = p.integers("positions", Shape{2}, Doubles{1, 4});
    const TensorId normed = add_norm(p, Norm::kRms, x, dtype);
    const TensorId k =
        rotary(p.builder, {.x = linear(p, normed, "k", 32, dtype), .positions = positions, .heads = 2});
    const TensorId v = linear(p, normed, "v", 32, dtype);
    cache_write(p.builder,
                {.cache = p.parameter("k_cache", Shape{2, 8, 32}, dtype), .rows = k, .positions = positions});
    cache_write(p.builder,
                {.cache = p.parameter("v_cache", Shape{2, 8, 32}, dtype), .rows = v, .positions = positions});
    expect_fused(p, FusedKind::kNormProducts);
  }
}

// Weights [in, out] as GPT-2 has them, with bias and activation.
TEST(NormProducts, OfGpt2sFeedForward) {
  for_all_decode_cases([](const DecodeCase& c, DType dtype) {
    Problem p;
    const TensorId x = p.parameter("x", Shape{c.rows, 1, c.width}, dtype);
    const TensorId weight = p.parameter("fc", Shape{c.width, 4 * c.width}, dtype);
    for (double& value : p.store["fc"]) value /= 16;
    p.output(matmul(p.builder, {.a = add_norm(p, Norm::kLayer, x, dtype),
                                .b = weight,
                                .bias = p.parameter("fc.bias", Shape{4 * c.width}, dtype),
                                .activation = Activation::kGeluTanh,
                                .save_pre_activation = false}));
    expect_fused(p, FusedKind::kNormProducts);
  });
}

TEST(GatedProducts, WithAndWithoutTheNorm) {
  for_all_decode_cases([](const DecodeCase& c, DType dtype) {
    for (const bool norm : {false, true}) {
      Problem p;
      TensorId x = p.parameter("x", Shape{c.rows, 1, c.width}, dtype);
      if (norm) x = add_norm(p, Norm::kRms, x, dtype);
      const TensorId gate = linear(p, x, "gate", 3 * c.width, dtype);
      const TensorId up = linear(p, x, "up", 3 * c.width, dtype);
      p.output(swiglu(p.builder, gate, up));
      expect_fused(p, FusedKind::kGatedProducts);
    }
  });
}

TEST(ProductAdd, WithAndWithoutBias) {
  for_all_decode_cases([](const DecodeCase& c, DType dtype) {
    for (const bool bias : {false, true}) {
      Problem p;
      const TensorId x = p.parameter("x", Shape{c.rows, 1, 3 * c.width}, dtype);
      const TensorId product = linear(p, x, "down", c.width, dtype, bias);
      p.output(add(p.builder, p.parameter("residual", Shape{c.rows, 1, c.width}, dtype), product));
      expect_fused(p, FusedKind::kProductAdd);
    }
  });
}

// Logits with rows of an odd number of columns are padded in memory between the product and the loss.
TEST(PaddedLogits, FromTheProductToItsGradients) {
  for (const DType dtype : kStorage) {
    SCOPED_TRACE(to_string(dtype));
    constexpr std::int64_t kTokens = 20, kVocabulary = 1031, kWidth = 64;
    Problem p;
    const TensorId x = p.parameter("x", Shape{kTokens, kWidth}, dtype);
    const TensorId table = p.parameter("table", Shape{kVocabulary, kWidth}, dtype);
    for (double& value : p.store["table"]) value /= 8;
    const TensorId logits = matmul(p.builder, {.a = x, .b = table, .transpose_b = true});
    const TensorId loss = cross_entropy(
        p.builder, {.logits = logits,
                    .targets = p.integers("targets", Shape{kTokens}, ids_of(kTokens, kVocabulary)),
                    .count = p.scalar("count", kTokens)});
    p.output(loss);
    add_backward(p.builder, {.seeds = {{loss, p.scalar("seed", 1)}}});
    expect_same_as_reference(p);
  }
}

}  // namespace
}  // namespace nadi::inline engines::cuda
