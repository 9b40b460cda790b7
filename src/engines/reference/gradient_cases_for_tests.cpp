// The graphs whose gradients are checked, on one rank. Small shapes, odd extents: a swapped axis shows.
#include <array>

#include "nadi/graph/ops.h"
#include "nadi/reference/gradient_check_for_tests.h"

namespace nadi::inline engines {
namespace {

// What most cases of attention have in common: 2 sequences of 3 tokens, 4 heads of width 2, 2 key-value
// heads.
AttentionArgs separate_attention(Problem& p, std::int64_t keys = 3) {
  return {.q = p.parameter("q", Shape{2, 3, 8}),
          .k = p.parameter("k", Shape{2, keys, 4}),
          .v = p.parameter("v", Shape{2, keys, 4}),
          .heads = 4,
          .kv_heads = 2};
}

template <bool kTransposeA, bool kTransposeB>
void matmul_case(Problem& p) {
  const TensorId a = p.parameter("a", kTransposeA ? Shape{4, 3} : Shape{3, 4});
  const TensorId b = p.parameter("b", kTransposeB ? Shape{5, 4} : Shape{4, 5});
  const TensorId bias = p.parameter("bias", Shape{5});
  p.output(matmul(
      p.builder,
      {.a = a, .b = b, .bias = bias, .transpose_a = kTransposeA, .transpose_b = kTransposeB, .alpha = 0.7}));
}

template <bool kTransposeA, bool kTransposeB>
void batched_matmul_case(Problem& p) {
  const TensorId a = p.parameter("a", kTransposeA ? Shape{2, 4, 3} : Shape{2, 3, 4});
  const TensorId b = p.parameter("b", kTransposeB ? Shape{2, 5, 4} : Shape{2, 4, 5});
  p.output(matmul(p.builder, {.a = a,
                              .b = b,
                              .transpose_a = kTransposeA,
                              .transpose_b = kTransposeB,
                              .batch_axes = 1,
                              .alpha = 0.7}));
}

template <Activation kActivation>
void linear_case(Problem& p) {
  p.output(matmul(p.builder, {.a = p.parameter("x", Shape{2, 3, 4}),
                              .b = p.parameter("weight", Shape{4, 5}),
                              .bias = p.parameter("bias", Shape{5}),
                              .activation = kActivation}));
}

// Values between the parameters and the op: gradients are booked on values instead of variables.
TensorId doubled(Problem& p, TensorId x) {
  return add(p.builder, x, x);
}

const std::vector<GradientCase> kMatrixCases{
    {"matmul", matmul_case<false, false>},
    {"matmul_transposed_a", matmul_case<true, false>},
    {"matmul_transposed_b", matmul_case<false, true>},
    {"matmul_transposed_both", matmul_case<true, true>},
    {"matmul_batched", batched_matmul_case<false, false>},
    {"matmul_batched_transposed_a", batched_matmul_case<true, false>},
    {"matmul_batched_transposed_b", batched_matmul_case<false, true>},
    {"matmul_batched_transposed_both", batched_matmul_case<true, true>},
    {"matmul_two_batch_axes",
     [](Problem& p) {
       p.output(matmul(p.builder, {.a = doubled(p, p.parameter("a", Shape{2, 3, 2, 4})),
                                   .b = doubled(p, p.parameter("b", Shape{2, 3, 4, 2})),
                                   .batch_axes = 2}));
     }},
    {"matmul_flattens_rows_of_transposed_operands",
     [](Problem& p) {
       p.output(matmul(p.builder, {.a = p.parameter("a", Shape{2, 3, 4}),
                                   .b = p.parameter("b", Shape{2, 3, 5}),
                                   .transpose_a = true}));
     }},
    {"matmul_of_different_ranks",
     [](Problem& p) {
       // a^T b with rows [6] and [2, 3], then b [2, 3, 5] seen as 6 rows.
       const TensorId b = p.parameter("b", Shape{2, 3, 5});
       p.output(matmul(p.builder, {.a = p.parameter("a", Shape{6, 4}), .b = b, .transpose_a = true}));
       p.output(matmul(p.builder, {.a = p.parameter("c", Shape{2, 6}), .b = b}));
       p.output(
           matmul(p.builder, {.a = p.parameter("d", Shape{2, 5}), .b = doubled(p, b), .transpose_b = true}));
     }},
    {"matmul_gelu_tanh", linear_case<Activation::kGeluTanh>},
    {"matmul_gelu_erf", linear_case<Activation::kGeluErf>},
    {"matmul_of_a_parameter_with_itself",
     [](Problem& p) {
       const TensorId w = p.parameter("w", Shape{3, 4});
       p.output(matmul(p.builder, {.a = w, .b = w, .transpose_b = true}));
     }},
    {"matmul_fp8",
     [](Problem& p) {
       const QuantizedTensor a =
           quantize_fp8(p.builder, p.parameter("a", Shape{3, 4}, DType::kBF16), DType::kF8E4M3);
       const QuantizedTensor b =
           quantize_fp8(p.builder, p.parameter("b", Shape{4, 5}, DType::kBF16), DType::kF8E4M3);
       p.output(matmul(p.builder, {.a = a.values, .b = b.values, .a_scale = a.scale, .b_scale = b.scale}));
     }},
};

const std::vector<GradientCase> kAttentionCases{
    {"attention_packed",
     [](Problem& p) {
       p.output(
           fused_attention(p.builder, {.q = p.parameter("qkv", Shape{2, 3, 12}), .heads = 2, .kv_heads = 2}));
     }},
    {"attention_packed_grouped_causal_dropout",
     [](Problem& p) {
       p.output(fused_attention(p.builder, {.q = p.parameter("qkv", Shape{2, 3, 16}),
                                            .heads = 4,
                                            .kv_heads = 2,
                                            .causal = true,
                                            .dropout = 0.4,
                                            .random = p.random(5)}));
     }},
    {"attention_separate_grouped_causal",
     [](Problem& p) {
       AttentionArgs args = separate_attention(p);
       args.causal = true;
       args.scale = 0.3;
       p.output(fused_attention(p.builder, args));
     }},
    {"attention_to_more_keys_with_lengths",
     [](Problem& p) {
       AttentionArgs args = separate_attention(p, 5);
       args.lengths = p.integers("lengths", Shape{2}, {2, 5});
       args.dropout = 0.25;
       args.random = p.random();
       p.output(fused_attention(p.builder, args));
     }},
    {"attention_causal_with_positions",
     [](Problem& p) {
       AttentionArgs args = separate_attention(p, 6);
       args.causal = true;
       args.positions = p.integers("positions", Shape{2}, {0, 3});
       p.output(fused_attention(p.builder, args));
     }},
    {"attention_of_an_empty_sequence",
     [](Problem& p) {
       AttentionArgs args = separate_attention(p);
       args.lengths = p.integers("lengths", Shape{2}, {0, 2});
       p.output(fused_attention(p.builder, args));
     }},
    {"attention_of_one_tensor_three_times",
     [](Problem& p) {
       const TensorId x = p.parameter("x", Shape{2, 3, 4});
       p.output(fused_attention(p.builder, {.q = x, .k = x, .v = x, .heads = 2, .kv_heads = 2}));
     }},
    {"unfused_attention_grouped_causal_dropout",
     [](Problem& p) {
       AttentionArgs args = separate_attention(p);
       args.causal = true;
       args.dropout = 0.4;
       args.random = p.random(5);
       p.output(unfused_attention(p.builder, args));
     }},
    {"unfused_attention_with_lengths_of_values",
     [](Problem& p) {
       AttentionArgs args = separate_attention(p);
       args.q = doubled(p, args.q);
       args.k = doubled(p, args.k);
       args.v = doubled(p, args.v);
       args.lengths = p.integers("lengths", Shape{2}, {2, 3});
       p.output(unfused_attention(p.builder, args));
     }},
    {"unfused_attention_of_split_qkv",
     [](Problem& p) {
       const TensorId qkv = matmul(p.builder, {.a = p.parameter("x", Shape{2, 3, 4}),
                                               .b = p.parameter("weight", Shape{4, 12}),
                                               .bias = p.parameter("bias", Shape{12})});
       const std::array<std::int64_t, 3> widths{4, 4, 4};
       const std::vector<TensorId> parts = split(p.builder, qkv, 2, widths);
       p.output(unfused_attention(
           p.builder,
           {.q = parts[0], .k = parts[1], .v = parts[2], .heads = 2, .kv_heads = 2, .causal = true}));
     }},
    {"softmax_causal_with_lengths",
     [](Problem& p) {
       p.output(softmax(p.builder, {.x = p.parameter("x", Shape{2, 2, 3, 3}),
                                    .lengths = p.integers("lengths", Shape{2}, {2, 3}),
                                    .causal = true}));
     }},
    {"repeat_heads",
     [](Problem& p) {
       p.output(repeat_heads(p.builder, p.parameter("x", Shape{2, 2, 3, 2}), 3));
     }},
    {"rotary",
     [](Problem& p) {
       p.output(rotary(p.builder, {.x = p.parameter("x", Shape{2, 3, 8}), .heads = 2}));
     }},
    {"rotary_stretched_with_positions",
     [](Problem& p) {
       // Wavelengths 2 pi 10^(i/2) = 6.3, 19.9, 62.8, 199 means one kept, one or two blended, the last slowed.
       p.output(rotary(p.builder, {.x = p.parameter("x", Shape{2, 3, 16}),
                                   .positions = p.integers("positions", Shape{2}, {4, 11}),
                                   .heads = 2,
                                   .frequencies = {.theta = 100,
                                                   .factor = 8,
                                                   .low_frequency_factor = 1,
                                                   .high_frequency_factor = 4,
                                                   .original_positions = 64}}));
     }},
};

const std::vector<GradientCase> kElementwiseCases{
    {"layer_norm",
     [](Problem& p) {
       p.output(layer_norm(p.builder, {.x = p.parameter("x", Shape{2, 3, 5}),
                                       .weight = p.parameter("weight", Shape{5}),
                                       .bias = p.parameter("bias", Shape{5}),
                                       .epsilon = 0.1}));
     }},
    {"rms_norm",
     [](Problem& p) {
       p.output(rms_norm(p.builder, {.x = p.parameter("x", Shape{2, 3, 5}),
                                     .weight = p.parameter("weight", Shape{5}),
                                     .epsilon = 0.1}));
     }},
    {"gelu_tanh",
     [](Problem& p) { p.output(gelu(p.builder, p.parameter("x", Shape{12}), Activation::kGeluTanh)); }},
    {"gelu_erf",
     [](Problem& p) { p.output(gelu(p.builder, p.parameter("x", Shape{12}), Activation::kGeluErf)); }},
    {"swiglu",
     [](Problem& p) {
       p.output(swiglu(p.builder, p.parameter("gate", Shape{3, 4}), p.parameter("up", Shape{3, 4})));
     }},
    {"swiglu_of_one_tensor",
     [](Problem& p) {
       const TensorId x = p.parameter("x", Shape{5});
       p.output(swiglu(p.builder, x, x));
       const TensorId y = doubled(p, x);
       p.output(swiglu(p.builder, y, y));
     }},
    {"add",
     [](Problem& p) {
       p.output(add(p.builder, p.parameter("a", Shape{2, 3}), p.parameter("b", Shape{2, 3})));
     }},
    {"add_broadcast",
     [](Problem& p) {
       const TensorId b = p.parameter("b", Shape{3, 4});
       const TensorId sum = add(p.builder, p.parameter("a", Shape{2, 3, 4}), b);
       p.output(add(p.builder, sum, doubled(p, b)));
     }},
    {"dropout",
     [](Problem& p) {
       p.output(dropout(p.builder, {.x = p.parameter("x", Shape{3, 5}), .random = p.random(2), .rate = 0.4}));
     }},
    {"cast",
     [](Problem& p) {
       const TensorId low = cast(p.builder, p.parameter("x", Shape{2, 3}), DType::kBF16);
       p.output(gelu(p.builder, low, Activation::kGeluErf));
     }},
    {"cast_at_the_end",
     [](Problem& p) {
       const TensorId y = gelu(p.builder, p.parameter("x", Shape{2, 3}), Activation::kGeluErf);
       p.output(cast(p.builder, y, DType::kBF16));
       p.output(y);
     }},
    {"tied_embedding",
     [](Problem& p) {
       const TensorId table = p.parameter("table", Shape{6, 3});
       const TensorId x = embedding(p.builder, p.integers("ids", Shape{2, 2}, {4, 1, 4, 0}), table);
       const TensorId h = gelu(p.builder, x, Activation::kGeluTanh);
       p.output(matmul(p.builder, {.a = h, .b = table, .transpose_b = true}));
     }},
    {"cross_entropy",
     [](Problem& p) {
       p.output(cross_entropy(p.builder, {.logits = p.parameter("logits", Shape{2, 2, 5}),
                                          .targets = p.integers("targets", Shape{2, 2}, {0, 4, 2, 2}),
                                          .count = p.scalar("count", 4)}));
     }},
    {"cross_entropy_ignored_targets_and_padding",
     [](Problem& p) {
       const TensorId loss = p.builder.variable({.name = "loss", .role = Role::kMetric});
       p.output(cross_entropy(p.builder, {.logits = p.parameter("logits", Shape{4, 7}),
                                          .targets = p.integers("targets", Shape{4}, {0, -100, 4, -100}),
                                          .count = p.scalar("count", 3),
                                          .vocabulary = 5,
                                          .into = loss}));
     }},
};

const std::vector<GradientCase> kMovingCases{
    {"parameter_through_copy",
     [](Problem& p) {
       p.output(gelu(p.builder, copy(p.builder, p.parameter("x", Shape{4})), Activation::kGeluErf));
     }},
    {"parameter_through_reshape",
     [](Problem& p) {
       p.output(reshape(p.builder, p.parameter("x", Shape{2, 3, 4}), Shape{6, 4}));
     }},
    {"parameter_through_permute",
     [](Problem& p) {
       const TensorId w = permute(p.builder, p.parameter("w", Shape{5, 4}), {1, 0});
       p.output(matmul(p.builder, {.a = p.parameter("x", Shape{3, 4}), .b = w}));
     }},
    {"permute_of_three_axes",
     [](Problem& p) {
       const TensorId x = doubled(p, p.parameter("x", Shape{2, 3, 4}));
       p.output(permute(p.builder, x, {2, 0, 1}));
     }},
    {"reshape_after_permute",
     [](Problem& p) {
       // The gradient comes back permuted and has to become [2, 12].
       const TensorId x = reshape(p.builder, doubled(p, p.parameter("x", Shape{2, 12})), Shape{2, 3, 4});
       p.output(gelu(p.builder, permute(p.builder, x, {0, 2, 1}), Activation::kGeluErf));
     }},
    {"parameter_viewed_twice",
     [](Problem& p) {
       const TensorId x = p.parameter("x", Shape{2, 6});
       p.output(reshape(p.builder, x, Shape{3, 4}));
       p.output(permute(p.builder, x, {1, 0}));
       p.output(gelu(p.builder, x, Activation::kGeluErf));
     }},
    {"split_with_an_unused_part",
     [](Problem& p) {
       const std::array<std::int64_t, 3> extents{1, 2, 3};
       const std::vector<TensorId> parts = split(p.builder, p.parameter("x", Shape{2, 6, 2}), 1, extents);
       p.output(gelu(p.builder, parts[0], Activation::kGeluErf));
       p.output(parts[2]);
     }},
    {"concat",
     [](Problem& p) {
       const TensorId a = p.parameter("a", Shape{2, 1, 2});
       const TensorId b = p.parameter("b", Shape{2, 3, 2});
       const std::array<TensorId, 3> parts{a, doubled(p, b), a};
       p.output(gelu(p.builder, concat(p.builder, parts, 1), Activation::kGeluErf));
       const std::array<TensorId, 2> rows{b, b};
       p.output(concat(p.builder, rows, 0));
     }},
    {"copy_to_group_of_one",
     [](Problem& p) {
       p.output(copy_to_group(p.builder, p.parameter("x", Shape{4}), {.group = "nobody", .size = 1}));
     }},
    {"collectives_of_one_rank",
     [](Problem& p) {
       const GroupArgs alone{.group = "nobody", .size = 1};
       TensorId x = p.parameter("x", Shape{2, 3});
       x = all_reduce(p.builder, {.x = x, .group = alone});
       x = all_gather(p.builder, reduce_scatter(p.builder, x, alone, 0), alone, 1);
       p.output(all_to_all(p.builder, {.x = x, .group = alone, .split_axis = 1}));
     }},
};

}  // namespace

std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> cases;
  for (const auto* table : {&kMatrixCases, &kAttentionCases, &kElementwiseCases, &kMovingCases})
    cases.insert(cases.end(), table->begin(), table->end());
  return cases;
}

}  // namespace nadi::inline engines
