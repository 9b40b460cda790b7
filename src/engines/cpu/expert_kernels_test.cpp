// Kernels of layers with experts against the reference, over types, sizes and uneven loads.
#include <gtest/gtest.h>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr DType kStorage[]{DType::kF32, DType::kBF16, DType::kF16};

Doubles numbers(std::initializer_list<int> values) {
  return {values.begin(), values.end()};
}

TEST(RouteKernel, IsTheReference) {
  const RouteSettings settings[]{
      {.top_k = 2},
      {.top_k = 8, .normalized = true},
      {.top_k = 3, .score = RouterScore::kSigmoid, .normalized = true, .scale = 2.5},
      {.top_k = 4, .score = RouterScore::kSoftmaxOfChosen},
      {.top_k = 4, .score = RouterScore::kSigmoid, .groups = 4, .chosen_groups = 2, .group_best = 2}};
  for (const DType dtype : kStorage)
    for (const RouteSettings& setting : settings)
      for (const std::int64_t experts : {8, 24, 520}) {
        Problem p;
        const Shape shape{3, 9, experts};
        const TensorId logits = p.parameter("logits", shape, dtype);
        const TensorId bias = p.normal_input("bias", Shape{experts});
        for (const TensorId b : {kNoTensor, bias}) {
          const Routes routes = route(p.builder, {.logits = logits, .bias = b, .settings = setting});
          p.builder.add({.kind = OpKind::kRouteGrad,
                         .inputs = {logits, routes.experts,
                                    p.normal_input(b == bias ? "dy" : "dz", Shape{3, 9, setting.top_k})},
                         .attributes = p.builder.graph().ops().back().attributes});
        }
        expect_same_as_reference(p);
      }
}

// Of equal scores the lower expert is taken, as in the reference.
TEST(RouteKernel, TakesTheLowerOfEqualExperts) {
  Problem p;
  const TensorId logits = p.input("logits", Shape{2, 4}, {1, 1, 1, 1, 0, 2, 0, 2});
  const Routes routes = route(p.builder, {.logits = logits, .settings = {.top_k = 3}});
  p.output(routes.experts);
  EXPECT_EQ(p.run(), (std::vector<Doubles>{numbers({0, 1, 2, 1, 3, 0})}));
  expect_same_as_reference(p);
}

TEST(RouterLossKernels, AreTheReference) {
  for (const DType dtype : kStorage)
    for (const RouterScore score : {RouterScore::kSoftmax, RouterScore::kSigmoid})
      for (const std::int64_t experts : {5, 64, 600}) {
        Problem p;
        const TensorId logits = p.parameter("logits", Shape{70, experts}, dtype);
        const RouterSums sums = router_sums(p.builder, logits, {.top_k = 4, .score = score});
        const RouterLossArgs args{.factor = 2, .coefficient = 0.01, .tokens = 70};
        balance_loss(p.builder, sums, args);
        router_z_loss(p.builder, logits, args);
        const TensorId seed = p.scalar("seed", 3);
        p.builder.add({.kind = OpKind::kRouterSumsGrad,
                       .inputs = {logits, p.normal_input("d", Shape{experts})},
                       .attributes = p.builder.graph().ops()[0].attributes});
        p.builder.add({.kind = OpKind::kBalanceLossGrad,
                       .inputs = {sums.counts, seed},
                       .attributes = p.builder.graph().ops()[1].attributes});
        p.builder.add({.kind = OpKind::kRouterZLossGrad,
                       .inputs = {logits, seed},
                       .attributes = p.builder.graph().ops()[1].attributes});
        update_expert_bias(p.builder, p.parameter("bias", Shape{experts}), sums.counts, 0.001);
        expect_same_as_reference(p);
      }
}

TEST(PlaceTokensKernel, IsTheReferenceWithAndWithoutCapacity) {
  struct Case {
    double factor = 0;
    bool padded = false;
    DropPolicy policy = DropPolicy::kProbs;
  };
  for (const Case& c : {Case{}, Case{.factor = 1.25}, Case{.factor = 0.5, .padded = true},
                        Case{.factor = 1, .policy = DropPolicy::kPosition},
                        Case{.factor = 3, .padded = true, .policy = DropPolicy::kPosition}})
    for (const std::int64_t experts : {1, 7, 128}) {
      Problem p;
      const Routes routes = route(p.builder, {.logits = p.parameter("logits", Shape{2, 40, experts}),
                                              .settings = {.top_k = std::min<std::int64_t>(experts, 3)}});
      const PlacedTokens placed = place_tokens(p.builder, {.experts = routes.experts,
                                                           .weights = routes.weights,
                                                           .expert_count = experts,
                                                           .capacity_factor = c.factor,
                                                           .padded = c.padded,
                                                           .policy = c.policy});
      for (const DType dtype : kStorage) {
        const std::string name(to_string(dtype));
        const TensorId rows =
            permute_tokens(p.builder, p.parameter("x." + name, Shape{2, 40, 513}, dtype), placed);
        unpermute_tokens(p.builder, rows, placed);
      }
      permute_weights(p.builder, routes.weights, placed);
      expect_same_as_reference(p);
    }
}

TEST(PlaceReceivedKernel, IsTheReference) {
  for (const double place : {0, 1, 2}) {
    Problem p;
    // 3 ranks with 2 experts each.
    place_received(p.builder,
                   {.counts = p.integers("counts", Shape{3, 6},
                                         numbers({1, 0, 4, 2, 0, 3, 0, 0, 5, 1, 1, 1, 2, 7, 0, 0, 6, 0})),
                    .place = p.integers("place", Shape{1}, {place}),
                    .rows = 20});
    expect_same_as_reference(p);
  }
}

void expect_products(DType dtype, std::int64_t K, std::int64_t N, const Doubles& counts) {
  constexpr std::int64_t kRows = 150;
  Problem p;
  const std::int64_t E = std::ssize(counts);
  const TensorId a = p.parameter("a", Shape{kRows, K}, dtype), dy = p.parameter("dy", Shape{kRows, N}, dtype);
  const TensorId rows = p.integers("counts", Shape{E}, counts);
  for (const bool transposed : {false, true}) {
    const std::string name = transposed ? "transposed" : "plain";
    const Shape shape = transposed ? Shape{E, N, K} : Shape{E, K, N};
    grouped_matmul(p.builder, {.a = a,
                               .b = p.parameter(name, shape, dtype),
                               .counts = rows,
                               .transpose_b = transposed,
                               .rows_in_use = kRows});
    const Attributes attributes{{"transpose_b", transposed}, {"rows_in_use", kRows}};
    p.builder.add({.kind = OpKind::kGroupedMatmulGrad, .inputs = {a, dy, rows}, .attributes = attributes});
    for (const bool accumulate : {false, true})
      p.builder.add({.kind = OpKind::kGroupedMatmulGrad,
                     .inputs = {a, dy, rows},
                     .attributes = attributes,
                     .into = {{p.parameter(name + (accumulate ? ".sum" : ".gradient"), shape), accumulate}}});
  }
  expect_same_as_reference(p);
}

TEST(GroupedMatmulKernel, IsTheReferenceForUnevenLoads) {
  for (const DType dtype : kStorage)
    for (const auto& [K, N] : {std::pair{1, 1}, std::pair{5, 7}, std::pair{16, 33}, std::pair{3, 140}})
      for (const Doubles& counts : {numbers({150}), numbers({0, 100, 1, 0, 49}), numbers({0, 0, 0}),
                                    numbers({3, 70, 0, 65, 2, 0, 9, 0})})
        expect_products(dtype, K, N, counts);
}

TEST(WeightedSwigluKernel, IsTheReference) {
  for (const DType dtype : kStorage)
    for (const std::int64_t width : {1, 9, 600})
      for (const Doubles& counts : {numbers({40}), numbers({0, 20, 5}), numbers({0, 0})}) {
        Problem p;
        const auto rows = [&](const char* name) { return p.parameter(name, Shape{40, width}, dtype); };
        const TensorId gate = rows("gate"), up = rows("up"), dy = rows("dy");
        const TensorId weights = p.parameter("weights", Shape{40, 1});
        const TensorId count = p.integers("counts", Shape{std::ssize(counts)}, counts);
        weighted_swiglu(p.builder, {.gate = gate, .up = up, .weights = weights, .counts = count});
        p.builder.add({.kind = OpKind::kWeightedSwigluGrad, .inputs = {gate, up, weights, count, dy}});
        expect_same_as_reference(p);
      }
}

TEST(SigmoidGateKernel, IsTheReference) {
  for (const DType dtype : kStorage)
    for (const std::int64_t width : {1, 9, 600}) {
      Problem p;
      const TensorId y = p.parameter("y", Shape{2, 15, width}, dtype),
                     dy = p.parameter("dy", Shape{2, 15, width}, dtype);
      const TensorId gate = p.parameter("gate", Shape{2, 15, 1}, dtype);
      sigmoid_gate(p.builder, y, gate);
      p.builder.add({.kind = OpKind::kSigmoidGateGrad, .inputs = {y, gate, dy}});
      expect_same_as_reference(p);
    }
}

}  // namespace
}  // namespace nadi::inline engines
