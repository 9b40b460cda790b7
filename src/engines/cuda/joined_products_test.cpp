// Attention as models build it, whose products of queries, keys and values the CUDA engine joins: forward and
// backward, op by op and joined, against the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/cuda/fusing.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines::cuda {
namespace {

using testing::Contains;
using testing::Not;

struct BlockSizes {
  std::int64_t batch, tokens, width, heads, kv_heads, head_width;
};

struct AttentionBlock {
  BlockSizes sizes;
  bool bias = true;
  bool rotary = false;
  bool residual = true;  // so that there is a gradient of x before those of the products
  bool accumulate = false;
  double dropout = 0;

  std::string to_string() const {
    return format("{} x {} x {}, {} and {} heads of {}{}{}{}{}, dropout {}", sizes.batch, sizes.tokens,
                  sizes.width, sizes.heads, sizes.kv_heads, sizes.head_width, bias ? ", bias" : "",
                  rotary ? ", rotary" : "", residual ? ", residual" : "", accumulate ? ", accumulate" : "",
                  dropout);
  }
};

class BuiltBlock {
 public:
  BuiltBlock(const AttentionBlock& block, DType dtype) : block_(block), dtype_(dtype) {
    const Shape shape{block.sizes.batch, block.sizes.tokens, block.sizes.width};
    const TensorId x = add(p.builder, p.parameter("x", shape, dtype), p.parameter("z", shape, dtype));
    const TensorId q = turned(product(x, "q", block.sizes.heads), block.sizes.heads);
    const TensorId k = turned(product(x, "k", block.sizes.kv_heads), block.sizes.kv_heads);
    const TensorId v = product(x, "v", block.sizes.kv_heads);
    TensorId y = fused_attention(p.builder, {.q = q,
                                             .k = k,
                                             .v = v,
                                             .heads = block.sizes.heads,
                                             .kv_heads = block.sizes.kv_heads,
                                             .causal = block.rotary,
                                             .dropout = block.dropout,
                                             .random = block.dropout > 0 ? p.random(3) : kNoTensor});
    if (block.residual) {
      y = matmul(p.builder,
                 {.a = y,
                  .b = weight("o", Shape{block.sizes.width, block.sizes.heads * block.sizes.head_width}),
                  .transpose_b = true});
      y = add(p.builder, x, y);
    }
    const TensorId dy = p.parameter("dy", p.builder.shape(y), dtype);
    const Backward backward =
        add_backward(p.builder, {.seeds = {{y, dy}}, .with_respect_to = {x}, .accumulate = block.accumulate});
    p.output(backward.with_respect_to[0]);
    // As a training step has them: in the order in which gradients are ready.
    std::vector<std::string> names{"v", "k", "q"};
    for (const std::string ending : {"", ".bias"}) {
      if (!block.bias && !ending.empty()) continue;
      VariableBucket parameters, gradients;
      for (const std::string& name : names) {
        parameters.tensors.push_back(name + ending);
        gradients.tensors.push_back(name + ending + ".grad");
        if (block.accumulate)
          p.store.set(
              gradients.tensors.back(),
              normal_values(
                  gradients.tensors.back(),
                  p.builder.shape(*p.builder.graph().find_tensor(gradients.tensors.back())).elements()));
      }
      buckets.push_back(parameters);
      buckets.push_back(gradients);
    }
  }

  std::vector<FusedKind> kinds() const {
    Program program;
    program.graphs.push_back(p.builder.graph());
    program.sections.push_back({.name = "all",
                                .graph = 0,
                                .first_op = 0,
                                .end_op = static_cast<std::uint32_t>(p.builder.graph().ops().size())});
    program.buckets = buckets;
    std::vector<FusedKind> kinds;
    for (const FusedOps& ops : fused_ops(program, 0, {})) kinds.push_back(ops.kind);
    return kinds;
  }

  void expect_reference() const {
    // What attention is given is rounded first, and so is what it gives.
    const double error = dtype_ == DType::kF32 ? 0 : dtype_ == DType::kF16 ? 1e-4 : 5e-3;
    // A bias of the keys moves all scores of a query alike, which changes nothing: its gradient is zero.
    std::map<std::string, std::string> sizes;
    if (block_.bias && !block_.rotary) sizes["k.bias.grad"] = "v.bias.grad";
    expect_same_as_reference(p, {.max_error = error, .sizes = sizes, .buckets = buckets});
  }

  Problem p;
  std::vector<VariableBucket> buckets;

 private:
  // Sized so that the results stay near 1.
  TensorId weight(const std::string& name, const Shape& shape) {
    const TensorId made = p.parameter(name, shape, dtype_);
    for (double& value : p.store[name]) value /= 16;
    return made;
  }
  TensorId product(TensorId x, const std::string& name, std::int64_t heads) {
    const std::int64_t columns = heads * block_.sizes.head_width;
    return matmul(p.builder,
                  {.a = x,
                   .b = weight(name, Shape{columns, block_.sizes.width}),
                   .bias = block_.bias ? p.parameter(name + ".bias", Shape{columns}, dtype_) : kNoTensor,
                   .transpose_b = true});
  }
  TensorId turned(TensorId value, std::int64_t heads) {
    return block_.rotary ? rotary(p.builder, {.x = value, .heads = heads}) : value;
  }

  AttentionBlock block_;
  DType dtype_;
};

void expect_joined(const AttentionBlock& block) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(block.to_string() + " " + std::string(to_string(dtype)));
    const BuiltBlock built(block, dtype);
    EXPECT_THAT(built.kinds(), Contains(FusedKind::kJoinedResults));
    EXPECT_THAT(built.kinds(), Contains(FusedKind::kJoinedGradients));
    built.expect_reference();
  }
}

TEST(JoinedProducts, OfBert) {
  expect_joined({.sizes = {2, 33, 64, 4, 4, 16}});
  expect_joined({.sizes = {3, 43, 96, 3, 3, 32}, .accumulate = true});
  expect_joined({.sizes = {1, 129, 100, 2, 2, 64}});
  expect_joined({.sizes = {2, 20, 33, 1, 1, 8}});
}
TEST(JoinedProducts, OfBertWithDropout) {
  expect_joined({.sizes = {2, 33, 64, 4, 4, 16}, .dropout = 0.1});
}
TEST(JoinedProducts, WithoutAGradientBefore) {
  expect_joined({.sizes = {2, 33, 64, 4, 4, 16}, .residual = false});
}
TEST(JoinedProducts, OfLlama) {
  expect_joined({.sizes = {2, 33, 64, 4, 2, 16}, .bias = false, .rotary = true});
  expect_joined({.sizes = {1, 64, 96, 8, 1, 64}, .bias = false, .rotary = true, .accumulate = true});
  expect_joined({.sizes = {1, 17, 40, 3, 3, 8}, .bias = false, .rotary = true, .residual = false});
}
// As Qwen has it.
TEST(JoinedProducts, OfGroupedQueriesWithBias) {
  expect_joined({.sizes = {2, 33, 64, 4, 2, 32}, .bias = true, .rotary = true});
}

// Columns would begin anywhere, or there are few rows, for which decoding has its kernels.
TEST(JoinedProducts, AreNotJoinedWhereItDoesNotSuit) {
  for (const AttentionBlock& block :
       {AttentionBlock{.sizes = {2, 33, 64, 3, 3, 10}}, AttentionBlock{.sizes = {2, 4, 64, 4, 4, 16}}}) {
    SCOPED_TRACE(block.to_string());
    const BuiltBlock built(block, DType::kBF16);
    EXPECT_THAT(built.kinds(), Not(Contains(FusedKind::kJoinedResults)));
    EXPECT_THAT(built.kinds(), Not(Contains(FusedKind::kJoinedGradients)));
    built.expect_reference();
  }
}

}  // namespace
}  // namespace nadi::inline engines::cuda
