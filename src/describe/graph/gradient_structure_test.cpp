// The shape of what add_backward() and add_optimizer() append. That the numbers are right is checked with the
// reference engine (reference/).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops.h"
#include "nadi/graph/optimizer.h"

namespace nadi::inline describe {
namespace {

using testing::ElementsAre;

int count(const Graph& graph, OpKind kind, Phase phase) {
  return static_cast<int>(
      std::ranges::count_if(graph.ops(), [&](const Op& op) { return op.kind == kind && op.phase == phase; }));
}

// `blocks` blocks of matmul with activation and a residual, on a stream of width 8.
struct Net {
  GraphBuilder b;
  TensorId loss = kNoTensor;

  explicit Net(int blocks, DType dtype = DType::kF32) {
    TensorId x = b.input("x", {4, 8}, dtype);
    for (int i = 0; i < blocks; ++i) {
      const auto block = b.in_block(i);
      const auto layer = b.in_layer("h." + std::to_string(i));
      const TensorId w = b.parameter(b.layer() + ".weight", {8, 8}, dtype, {});
      x = add(b, x, matmul(b, {.a = x, .b = w, .activation = Activation::kGeluTanh}));
    }
    const TensorId targets = b.input("targets", {4}, DType::kI32);
    const TensorId tokens = b.input("token_count", {}, DType::kF32);
    loss = cross_entropy(b, {.logits = x, .targets = targets, .count = tokens});
  }

  Backward backward(Recompute recompute = {}) {
    const TensorId one = b.constant("one", {}, DType::kF32, Initializer::constant(1));
    return add_backward(b, {.seeds = {{loss, one}}, .recompute = recompute});
  }
};

TEST(Backward, GivesEveryParameterAGradientLastLayerFirst) {
  Net net(2);
  const Backward result = net.backward();
  std::vector<std::string> names;
  for (const auto& [parameter, gradient] : result.parameters) names.push_back(net.b.tensor(gradient).name);
  EXPECT_THAT(names, ElementsAre("h.1.weight.grad", "h.0.weight.grad"));
  // Per block one product for the weight; one for the input, except in block 0, whose input is no parameter.
  EXPECT_EQ(count(net.b.graph(), OpKind::kMatmul, Phase::kBackward), 3);
}

TEST(Backward, GradientsOfLowPrecisionParametersAreFp32) {
  Net net(1, DType::kBF16);
  const Backward result = net.backward();
  EXPECT_EQ(net.b.tensor(result.parameters[0].gradient).dtype, DType::kF32);
}

TEST(Backward, ATiedParameterIsAddedToInTheSameVariable) {
  GraphBuilder b;
  const TensorId x = b.input("x", {4, 8}, DType::kF32);
  const TensorId w = b.parameter("w", {8, 8}, DType::kF32, {});
  const TensorId y = matmul(b, {.a = matmul(b, {.a = x, .b = w}), .b = w});
  const TensorId seed = b.input("dy", {4, 8}, DType::kF32);
  const Backward result = add_backward(b, {.seeds = {{y, seed}}});
  ASSERT_EQ(result.parameters.size(), 1u);
  std::vector<bool> accumulate;
  for (const Op& op : b.graph().ops())
    for (const OpOutput& out : op.outputs)
      if (out.tensor == result.parameters[0].gradient) accumulate.push_back(out.accumulate);
  EXPECT_THAT(accumulate, ElementsAre(false, true));
}

TEST(Backward, GradientsOfInputsOnRequest) {
  GraphBuilder b;
  const TensorId x = b.input("x", {4, 8}, DType::kF32);
  const TensorId w = b.parameter("w", {8, 3}, DType::kF32, {});
  const TensorId y = matmul(b, {.a = x, .b = w});
  const TensorId seed = b.input("dy", {4, 3}, DType::kF32);
  const Backward result = add_backward(b, {.seeds = {{y, seed}}, .with_respect_to = {x}});
  ASSERT_NE(result.with_respect_to[0], kNoTensor);
  EXPECT_EQ(b.shape(result.with_respect_to[0]), (Shape{4, 8}));
}

TEST(Backward, AnOpWithoutGradientInTheWayIsAnError) {
  GraphBuilder b;
  const TensorId x = b.parameter("x", {2, 3, 8}, DType::kF32, {});
  const TensorId last = select_last_rows(b, x, b.input("lengths", {2}, DType::kI32));
  const TensorId seed = b.input("dy", {2, 1, 8}, DType::kF32);
  EXPECT_THROW(add_backward(b, {.seeds = {{last, seed}}}), Error);
}

int recomputed_matmuls(Recompute recompute) {
  Net net(4);
  net.backward(recompute);
  return count(net.b.graph(), OpKind::kMatmul, Phase::kRecompute);
}

TEST(Recompute, DoesAgainWhatTheSettingSays) {
  using enum Recompute::Granularity;
  using enum Recompute::Method;
  EXPECT_EQ(recomputed_matmuls({.granularity = kNone}), 0);
  // Each block of its own: every block's product, for what went into its activation.
  EXPECT_EQ(recomputed_matmuls({.granularity = kFull, .method = kUniform, .layers = 1}), 4);
  EXPECT_EQ(recomputed_matmuls({.granularity = kFull, .method = kUniform, .layers = 2}), 4);
  EXPECT_EQ(recomputed_matmuls({.granularity = kFull, .method = kBlock, .layers = 1}), 1);
  EXPECT_EQ(recomputed_matmuls({.granularity = kFull, .method = kBlock, .layers = 3}), 3);
  // There is no attention here.
  EXPECT_EQ(recomputed_matmuls({.granularity = kSelective}), 0);
}

TEST(Recompute, SavesMemory) {
  Net keep(16), again(16);
  keep.backward();
  again.backward({.granularity = Recompute::Granularity::kFull});
  EXPECT_LT(plan_memory(again.b.graph()).peak, plan_memory(keep.b.graph()).peak);
}

Bytes size_of_role(const Graph& graph, Role role) {
  Bytes total;
  for (const TensorId id : graph.tensors_with(role)) total += graph.tensor(id).size();
  return total;
}

TEST(Optimizer, KeepsMastersOfLowPrecisionParameters) {
  Net net(2, DType::kBF16);
  const Backward result = net.backward();
  add_optimizer(net.b, result, {});
  const Graph& graph = net.b.graph();
  EXPECT_EQ(count(graph, OpKind::kAdamW, Phase::kOptimizer), 2);
  ASSERT_TRUE(graph.find_tensor("h.0.weight.master"));
  EXPECT_EQ(graph.tensor(*graph.find_tensor("h.0.weight.master")).dtype, DType::kF32);
  // Per parameter of 64 elements: bf16 weight, fp32 gradient, fp32 master and two moments.
  EXPECT_EQ(size_of_role(graph, Role::kParameter).count(), 2 * 64 * 2);
  EXPECT_EQ(size_of_role(graph, Role::kGradient).count(), 2 * 64 * 4);
  EXPECT_EQ(size_of_role(graph, Role::kOptimizerState).count(), 2 * 64 * 12);
}

TEST(Optimizer, WeightDecayIsForMatricesOnly) {
  GraphBuilder b;
  const TensorId x = b.input("x", {4, 8}, DType::kF32);
  const TensorId w = b.parameter("fc.weight", {8, 3}, DType::kF32, {});
  const TensorId bias = b.parameter("fc.bias", {3}, DType::kF32, {});
  const TensorId y = matmul(b, {.a = x, .b = w, .bias = bias});
  const Backward result = add_backward(b, {.seeds = {{y, b.input("dy", {4, 3}, DType::kF32)}}});
  add_optimizer(b, result, {.weight_decay = 0.1});
  for (const Op& op : b.graph().ops()) {
    if (op.kind != OpKind::kAdamW) continue;
    EXPECT_EQ(op.attributes.real("weight_decay"), op.inputs[0] == w ? 0.1 : 0.0);
  }
}

TEST(Optimizer, SgdWithoutMomentumKeepsNothing) {
  Net net(1);
  const Backward result = net.backward();
  add_optimizer(net.b, result, {.kind = OptimizerKind::kSgd, .momentum = 0});
  EXPECT_EQ(size_of_role(net.b.graph(), Role::kOptimizerState), Bytes{0});
}

TEST(Optimizer, SgdSaiKeepsMomentumAndOneNumberPerParameter) {
  Net net(2);
  const Backward result = net.backward();
  add_optimizer(net.b, result, {.kind = OptimizerKind::kSgdSai});
  const Graph& graph = net.b.graph();
  EXPECT_EQ(count(graph, OpKind::kSgdSai, Phase::kOptimizer), 2);
  EXPECT_EQ(size_of_role(graph, Role::kOptimizerState).count(), 2 * (64 * 4 + 4));
  const auto scale = graph.find_tensor("h.1.weight.lr_scale");
  ASSERT_TRUE(scale);
  EXPECT_EQ(graph.tensor(*scale).initializer, Initializer::constant(0));  // not taken yet
}

}  // namespace
}  // namespace nadi::inline describe
