// Fused attention against what it is made of, and decoding with a cache against attention to everything.
#include "nadi/graph/ops/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "nadi/graph/ops.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {
namespace {

double largest_difference(const Doubles& a, const Doubles& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

constexpr double kRounding = 1e-12;  // of values around 1

struct Variant {
  std::string name;
  bool causal = false;
  bool lengths = false;
  double dropout = 0;
};

class FusedAttention : public testing::TestWithParam<Variant> {};

TEST_P(FusedAttention, EqualsUnfused) {
  const Variant& variant = GetParam();
  Problem p;
  const AttentionArgs args{.q = p.normal_input("q", Shape{2, 5, 12}),
                           .k = p.normal_input("k", Shape{2, 5, 6}),
                           .v = p.normal_input("v", Shape{2, 5, 6}),
                           .heads = 4,
                           .kv_heads = 2,
                           .causal = variant.causal,
                           .lengths = variant.lengths ? p.integers("lengths", Shape{2}, {3, 5}) : kNoTensor,
                           .dropout = variant.dropout,
                           .random = p.random(9)};
  p.output(fused_attention(p.builder, args));
  p.output(unfused_attention(p.builder, args));
  const std::vector<Doubles> y = p.run();
  EXPECT_LE(largest_difference(y[0], y[1]), kRounding);
}

INSTANTIATE_TEST_SUITE_P(Variants, FusedAttention,
                         testing::Values(Variant{"plain"}, Variant{"causal", true},
                                         Variant{"lengths", false, true},
                                         Variant{"dropout", false, false, 0.3},
                                         Variant{"everything", true, true, 0.3}),
                         [](const auto& test) { return test.param.name; });

TEST(FusedAttention, TakesPackedOperands) {
  Problem p;
  const std::array<TensorId, 3> parts{p.normal_input("q", Shape{2, 3, 8}),
                                      p.normal_input("k", Shape{2, 3, 4}),
                                      p.normal_input("v", Shape{2, 3, 4})};
  p.output(fused_attention(
      p.builder, {.q = parts[0], .k = parts[1], .v = parts[2], .heads = 4, .kv_heads = 2, .causal = true}));
  p.output(fused_attention(p.builder,
                           {.q = concat(p.builder, parts, 2), .heads = 4, .kv_heads = 2, .causal = true}));
  const std::vector<Doubles> y = p.run();
  EXPECT_EQ(y[0], y[1]);
}

// One query of width 1 on keys ln 1 and ln 3, scale 1: weights 1/4 and 3/4, denominator 1 + 3.
TEST(FusedAttention, WeighsValues) {
  Problem p;
  const TensorId y = fused_attention(p.builder, {.q = p.input("q", Shape{1, 1, 1}, {1}),
                                                 .k = p.input("k", Shape{1, 2, 1}, {0, std::log(3)}),
                                                 .v = p.input("v", Shape{1, 2, 1}, {4, 8}),
                                                 .scale = 1});
  p.output(y);
  p.output(*p.builder.graph().find_tensor("attention:1"));
  const std::vector<Doubles> values = p.run();
  EXPECT_NEAR(values[0][0], 7, kRounding);
  EXPECT_NEAR(values[1][0], std::log(4), kRounding);
}

TEST(FusedAttention, GivesNothingWhereNoKeyIsSeen) {
  Problem p;
  p.output(fused_attention(p.builder, {.q = p.normal_input("qkv", Shape{1, 2, 3}),
                                       .lengths = p.integers("lengths", Shape{1}, {0})}));
  EXPECT_EQ(p.run()[0], (Doubles{0, 0}));
}

// A data-parallel rank with samples 3 and 4 of the batch drops what a single rank drops there.
TEST(FusedAttention, DropsByGlobalSample) {
  const Doubles qkv = normal_values("qkv", 5 * 12);
  const auto run = [&](std::int64_t first, std::int64_t samples) {
    Problem p;
    const Doubles part(qkv.begin() + first * 12, qkv.begin() + (first + samples) * 12);
    p.output(fused_attention(p.builder, {.q = p.input("qkv", Shape{samples, 2, 6}, part),
                                         .heads = 1,
                                         .kv_heads = 1,
                                         .dropout = 0.5,
                                         .random = p.random(static_cast<double>(first))}));
    return p.run()[0];
  };
  const Doubles whole = run(0, 5);
  EXPECT_EQ(run(3, 2), Doubles(whole.begin() + 3 * 4, whole.end()));
}

// Five tokens of two sequences: three as a prompt, then one by one, keys and values in a cache of six rows.
TEST(Decoding, EqualsAttentionToEverything) {
  constexpr std::int64_t kTokens = 5, kPrompt = 3, kWidth = 4;
  const auto tokens_of = [](const Doubles& x, std::int64_t first, std::int64_t count) {
    Doubles part;
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t i = 0; i < count * kWidth; ++i) part.push_back(x[(b * kTokens + first) * kWidth + i]);
    return part;
  };
  Problem full;
  const auto turned = [](Problem& p, TensorId x, TensorId positions) {
    return rotary(p.builder, {.x = x, .positions = positions, .heads = 2});
  };
  const Shape all_tokens{2, kTokens, kWidth};
  full.output(fused_attention(full.builder, {.q = turned(full, full.normal_input("q", all_tokens), kNoTensor),
                                             .k = turned(full, full.normal_input("k", all_tokens), kNoTensor),
                                             .v = full.normal_input("v", all_tokens),
                                             .heads = 2,
                                             .kv_heads = 2,
                                             .causal = true}));
  const Doubles expected = full.run()[0];

  ReferenceStore caches;
  for (const char* name : {"k_cache", "v_cache"}) caches.set(name, Doubles(2 * 6 * kWidth, 0.0));
  std::int64_t first = 0;
  for (const std::int64_t count : {kPrompt, std::int64_t{1}, std::int64_t{1}}) {
    Problem step;
    const Shape shape{2, count, kWidth};
    const double position = static_cast<double>(first);
    const TensorId positions = step.integers("positions", Shape{2}, {position, position});
    const auto rows = [&](const std::string& name) {
      return step.input(name, shape, tokens_of(full.store.get(name), first, count));
    };
    const auto cached = [&](const std::string& name, TensorId values) {
      step.store.set(name, caches.get(name));
      const TensorId cache =
          step.builder.variable({.name = name, .shape = Shape{2, 6, kWidth}, .role = Role::kCache});
      cache_write(step.builder, {.cache = cache, .rows = values, .positions = positions});
      return cache;
    };
    step.output(fused_attention(step.builder, {.q = turned(step, rows("q"), positions),
                                               .k = cached("k_cache", turned(step, rows("k"), positions)),
                                               .v = cached("v_cache", rows("v")),
                                               .heads = 2,
                                               .kv_heads = 2,
                                               .causal = true,
                                               .positions = positions,
                                               .training = false}));
    EXPECT_LE(largest_difference(step.run()[0], tokens_of(expected, first, count)), kRounding);
    for (const char* name : {"k_cache", "v_cache"}) caches.set(name, step.store.get(name));
    first += count;
  }
}

}  // namespace
}  // namespace nadi::inline engines
