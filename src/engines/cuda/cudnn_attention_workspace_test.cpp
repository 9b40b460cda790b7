#include "nadi/cuda/cudnn_attention_workspace.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "nadi/graph/builder.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/attention.h"

namespace nadi::inline engines::cuda {
namespace {

struct AttentionShapes {
  std::int64_t B, T, H, K, D;
};

// Packed queries, keys and values, and their gradient.
struct PackedAttention {
  GraphBuilder builder;
  AttentionArgs args;

  PackedAttention(const AttentionShapes& s, DType dtype)
      : args{.q = builder.input("qkv", Shape{s.B, s.T, (s.H + 2 * s.K) * s.D}, dtype),
             .heads = s.H,
             .kv_heads = s.K,
             .causal = true} {}

  Graph graph() {
    const TensorId y = fused_attention(builder, args);
    const Tensor& tensor = builder.graph().tensor(y);
    const TensorId dy = builder.input("dy", tensor.shape, tensor.dtype);
    builder.add({.kind = OpKind::kAttentionGrad,
                 .inputs = {args.q, kNoTensor, kNoTensor, kNoTensor, args.lengths, args.random, kNoTensor,
                            kNoTensor, kNoTensor, y, *builder.graph().find_tensor("attention:1"), dy},
                 .attributes = builder.graph().ops().back().attributes});
    return builder.take();
  }
};

OpView the_op(const Graph& graph, OpKind kind) {
  for (const Op& op : graph.ops())
    if (op.kind == kind) return {graph, op};
  throw std::logic_error("the graph has no such op");
}

constexpr AttentionShapes kGpt2{4, 1024, 12, 12, 64};

bool takes(PackedAttention attention, const DeviceTraits& traits = {}) {
  const Graph graph = attention.graph();
  const bool forward = cudnn_takes_attention(the_op(graph, OpKind::kAttention), traits);
  EXPECT_EQ(cudnn_takes_attention(the_op(graph, OpKind::kAttentionGrad), traits), forward);
  EXPECT_EQ(cudnn_attention_workspace(the_op(graph, OpKind::kAttention), traits) > 0, forward);
  EXPECT_EQ(cudnn_attention_workspace(the_op(graph, OpKind::kAttentionGrad), traits) > 0, forward);
  return forward;
}

TEST(CudnnAttention, TakesLongSequencesInSixteenBits) {
  EXPECT_TRUE(takes({kGpt2, DType::kBF16}));
  EXPECT_TRUE(takes({kGpt2, DType::kF16}));
  EXPECT_TRUE(takes({{1, 4096, 32, 8, 128}, DType::kBF16}));
  EXPECT_FALSE(takes({kGpt2, DType::kF32}));
  EXPECT_FALSE(takes({{4, 100, 12, 12, 64}, DType::kBF16}));
  EXPECT_FALSE(takes({{4, 1024, 12, 12, 60}, DType::kBF16}));
}

TEST(CudnnAttention, TakesLengthsButNoDropout) {
  PackedAttention with_lengths(kGpt2, DType::kBF16);
  with_lengths.args.lengths = with_lengths.builder.input("lengths", Shape{kGpt2.B}, DType::kI32);
  EXPECT_TRUE(takes(std::move(with_lengths)));
  PackedAttention with_dropout(kGpt2, DType::kBF16);
  with_dropout.args.random = with_dropout.builder.input("random", Shape{3}, DType::kI64);
  with_dropout.args.dropout = 0.1;
  EXPECT_FALSE(takes(std::move(with_dropout)));
}

TEST(CudnnAttention, IsNotThereOnOldDevices) {
  EXPECT_FALSE(takes({kGpt2, DType::kBF16}, {.cudnn = false}));
  EXPECT_FALSE(takes({kGpt2, DType::kBF16}, {.compute_capability = 80}));
}

// What plans of cuDNN 9.14 and 9.19 asked for on an H200.
struct AskedFor {
  AttentionShapes shapes;
  std::int64_t gradient, deterministic_gradient;
};

TEST(CudnnAttention, HasTheWorkspaceThatPlansAskFor) {
  for (const AskedFor& asked :
       {AskedFor{kGpt2, 256, 100'663'552}, AskedFor{{32, 1024, 12, 12, 64}, 256, 805'306'624},
        AskedFor{{1, 4096, 32, 8, 64}, 33'554'688, 1'107'296'512},
        AskedFor{{8, 512, 12, 12, 64}, 256, 50'331'904}, AskedFor{{8, 384, 12, 12, 64}, 256, 28'311'808}}) {
    const Graph graph = PackedAttention(asked.shapes, DType::kBF16).graph();
    const OpView op = the_op(graph, OpKind::kAttentionGrad);
    const auto expect_enough = [](std::int64_t planned, std::int64_t needed) {
      EXPECT_GE(planned, needed);
      EXPECT_LE(planned, needed + 4096);
    };
    expect_enough(cudnn_gradient_scratch(op, {}).plan, asked.gradient);
    expect_enough(cudnn_gradient_scratch(op, {.math = {.deterministic = true}}).plan,
                  asked.deterministic_gradient);
  }
}

}  // namespace
}  // namespace nadi::inline engines::cuda
