// Recomputation changes when values are computed, never what they are: gradients agree to the last bit,
// though the values that are computed again were forgotten after the forward pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>

#include "nadi/base/error.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/ops.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {
namespace {

using Granularity = Recompute::Granularity;
using Method = Recompute::Method;

constexpr std::int32_t kBlocks = 4;

// A transformer of width 4 with unfused attention and dropout in every place.
void add_block(Problem& p, TensorId& x, const std::string& name) {
  GraphBuilder& b = p.builder;
  const auto scope = b.in_layer(name);
  const auto dropped = [&](TensorId value, std::string_view purpose) {
    return dropout(b, {.x = value, .random = p.random(), .rate = 0.25, .purpose = purpose});
  };
  const auto norm = [&](TensorId value, const std::string& part) {
    return layer_norm(b, {.x = value,
                          .weight = p.parameter(name + part + ".weight", Shape{4}),
                          .bias = p.parameter(name + part + ".bias", Shape{4})});
  };
  const TensorId qkv = matmul(b, {.a = norm(x, ".ln_1"),
                                  .b = p.parameter(name + ".qkv.weight", Shape{4, 12}),
                                  .bias = p.parameter(name + ".qkv.bias", Shape{12})});
  const std::array<std::int64_t, 3> widths{4, 4, 4};
  const std::vector<TensorId> parts = split(b, qkv, 2, widths);
  const TensorId context = unfused_attention(b, {.q = parts[0],
                                                 .k = parts[1],
                                                 .v = parts[2],
                                                 .heads = 2,
                                                 .kv_heads = 2,
                                                 .causal = true,
                                                 .dropout = 0.25,
                                                 .random = p.random()});
  x = add(b, x, dropped(matmul(b, {.a = context, .b = p.parameter(name + ".proj", Shape{4, 4})}), "attn"));
  const TensorId h = matmul(b, {.a = norm(x, ".ln_2"),
                                .b = p.parameter(name + ".up", Shape{4, 8}),
                                .activation = Activation::kGeluTanh});
  x = add(b, x, dropped(matmul(b, {.a = h, .b = p.parameter(name + ".down", Shape{8, 4})}), "mlp"));
}

// A way to recompute, and which segment that puts a forward op in: -1 where everything is kept.
struct Setting {
  std::string name;
  Recompute recompute;
  std::int32_t (*segment_of)(const Op&) = [](const Op&) { return -1; };
};

// Empties the values that do not have to outlive the forward pass: made in a segment and read only there.
void forget_inside_of_segments(const Graph& graph, std::size_t forward_end, const Setting& setting,
                               ReferenceSlot& slot) {
  const std::span<const Op> forward = graph.ops().first(forward_end);
  for (const Op& op : forward) {
    const std::int32_t segment = setting.segment_of(op);
    if (segment < 0) continue;
    for (const OpOutput& output : op.outputs) {
      const bool leaves = std::ranges::any_of(forward, [&](const Op& reader) {
        return setting.segment_of(reader) != segment && std::ranges::count(reader.inputs, output.tensor) > 0;
      });
      if (!leaves) slot.values[index(output.tensor)].clear();
    }
  }
}

// By the order of parameters.
std::vector<Doubles> gradients_with(const Setting& setting) {
  Problem p;
  const TensorId table = p.parameter("table", Shape{5, 4});
  TensorId x = embedding(p.builder, p.integers("ids", Shape{2, 3}, {0, 1, 2, 3, 4, 0}), table);
  for (std::int32_t block = 0; block < kBlocks; ++block) {
    const auto scope = p.builder.in_block(block);
    add_block(p, x, "h." + std::to_string(block));
  }
  const TensorId logits = matmul(p.builder, {.a = x, .b = table, .transpose_b = true});
  const TensorId loss =
      cross_entropy(p.builder, {.logits = logits,
                                .targets = p.integers("targets", Shape{2, 3}, {1, 2, 3, 4, 0, -100}),
                                .count = p.scalar("count", 5)});
  const Graph& graph = p.builder.graph();
  const std::size_t forward_end = graph.ops().size();
  add_backward(p.builder, {.seeds = {{loss, p.scalar("one", 1)}}, .recompute = setting.recompute});
  initialize(graph, p.store, 1);
  ReferenceSlot slot;
  run_reference({.graph = &graph, .ops = {0, forward_end}, .slot = &slot}, p.store);
  forget_inside_of_segments(graph, forward_end, setting, slot);
  run_reference({.graph = &graph, .ops = {.first = forward_end}, .slot = &slot}, p.store);
  std::vector<Doubles> gradients;
  for (const TensorId id : graph.tensors_with(Role::kParameter))
    gradients.push_back(p.store.get(p.builder.tensor(id).name + ".grad"));
  return gradients;
}

class Recomputation : public testing::TestWithParam<Setting> {};

TEST_P(Recomputation, LeavesGradientsAsTheyAre) {
  EXPECT_EQ(gradients_with(GetParam()), gradients_with({}));
}

const std::vector<Setting> kSettings{
    {"selective",
     {.granularity = Granularity::kSelective},
     [](const Op& op) { return op.core_attention ? op.block : -1; }},
    {"full_uniform_1", {.granularity = Granularity::kFull}, [](const Op& op) { return op.block; }},
    {"full_uniform_2",
     {.granularity = Granularity::kFull, .layers = 2},
     [](const Op& op) { return op.block < 0 ? -1 : op.block / 2; }},
    {"full_uniform_3",
     {.granularity = Granularity::kFull, .layers = 3},
     [](const Op& op) { return op.block < 0 ? -1 : op.block / 3; }},
    {"full_block_1",
     {.granularity = Granularity::kFull, .method = Method::kBlock, .layers = 1},
     [](const Op& op) { return op.block == 0 ? 0 : -1; }},
};

INSTANTIATE_TEST_SUITE_P(Settings, Recomputation, testing::ValuesIn(kSettings),
                         [](const auto& test) { return test.param.name; });

// Forgetting without recomputing is noticed: what the test above proves depends on it.
TEST(Recomputation, ForgettingAloneIsAnError) {
  Setting setting = kSettings.front();
  setting.recompute = {};
  EXPECT_THROW(gradients_with(setting), Error);
}

}  // namespace
}  // namespace nadi::inline engines
