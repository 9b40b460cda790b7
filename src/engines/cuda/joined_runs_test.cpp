#include "nadi/cuda/joined_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "nadi/cuda/fusing.h"
#include "nadi/cuda/prepared_graph.h"
#include "nadi/engine/bound_program.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline engines::cuda {
namespace {

using testing::Each;
using testing::SizeIs;

constexpr std::int64_t kJoinedLayers = 3;

struct JoinCase {
  Architecture architecture = architecture_named("bert");
  Plan plan = {};
  Recompute recompute = {};
  std::int64_t bucket_elements = 1'000'000;
  std::int64_t head_width = 2;  // of four heads
};

Program joined_step(const JoinCase& c) {
  ModelConfig model = tiny_model(c.architecture, kJoinedLayers);
  model.head_width = c.head_width;
  if (c.architecture == architecture_named("bert")) model.width = model.heads * c.head_width;
  return build_step(model,
                    {.batch_size = 2 * c.plan.micro_batches,
                     .seq_length = 8,
                     .recompute = c.recompute,
                     .layout = {.bucket_elements = c.bucket_elements}},
                    c.plan);
}

// Kinds of the ops of each run that is joined, in order.
std::vector<std::vector<OpKind>> joined_in(const Program& program, FusedKind kind) {
  std::vector<std::vector<OpKind>> runs;
  for (std::size_t g = 0; g < program.graphs.size(); ++g)
    for (const FusedOps& ops : fused_ops(program, g, {})) {
      if (ops.kind != kind) continue;
      std::vector<OpKind>& run = runs.emplace_back();
      for (std::uint32_t i = ops.first; i < ops.end; ++i) run.push_back(program.graphs[g].ops()[i].kind);
    }
  return runs;
}

std::vector<OpKind> three_times(const std::vector<OpKind>& ops) {
  std::vector<OpKind> all;
  for (int i = 0; i < 3; ++i) all.insert(all.end(), ops.begin(), ops.end());
  return all;
}

TEST(JoinedRuns, OfBertAreThreeProductsAndAllThatMakesTheirGradients) {
  using enum OpKind;
  const Program program = joined_step({});
  const auto results = joined_in(program, FusedKind::kJoinedResults);
  EXPECT_THAT(results, SizeIs(kJoinedLayers));
  EXPECT_THAT(results, Each(three_times({kMatmul})));
  const auto gradients = joined_in(program, FusedKind::kJoinedGradients);
  EXPECT_THAT(gradients, SizeIs(kJoinedLayers));
  EXPECT_THAT(gradients, Each(three_times({kSumRows, kMatmul, kAdd, kMatmul})));
}

TEST(JoinedRuns, OfLlamaHaveRotaryWithin) {
  using enum OpKind;
  const Program program = joined_step({.architecture = architecture_named("llama")});
  const auto results = joined_in(program, FusedKind::kJoinedResults);
  EXPECT_THAT(results, SizeIs(kJoinedLayers));
  EXPECT_THAT(results, Each(std::vector{kMatmul, kRotary, kMatmul, kRotary, kMatmul}));
  const auto gradients = joined_in(program, FusedKind::kJoinedGradients);
  EXPECT_THAT(gradients, SizeIs(kJoinedLayers));
  EXPECT_THAT(gradients, Each(std::vector{kMatmul, kMatmul, kRotary, kMatmul, kAdd, kMatmul, kRotary, kMatmul,
                                          kAdd, kMatmul}));
}

TEST(JoinedRuns, OfQwen2HaveBiasesAndRotaryWithin) {
  using enum OpKind;
  const Program program = joined_step({.architecture = architecture_named("qwen2")});
  const auto results = joined_in(program, FusedKind::kJoinedResults);
  EXPECT_THAT(results, SizeIs(kJoinedLayers));
  EXPECT_THAT(results, Each(std::vector{kMatmul, kRotary, kMatmul, kRotary, kMatmul}));
  const auto gradients = joined_in(program, FusedKind::kJoinedGradients);
  EXPECT_THAT(gradients, SizeIs(kJoinedLayers));
  EXPECT_THAT(gradients, Each(std::vector{kSumRows, kMatmul, kMatmul, kRotary, kSumRows, kMatmul, kAdd,
                                          kMatmul, kRotary, kSumRows, kMatmul, kAdd, kMatmul}));
}

TEST(JoinedRuns, AreThoseOfRecomputationToo) {
  const Program program = joined_step({.recompute = {.granularity = Recompute::Granularity::kFull}});
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedResults), SizeIs(2 * kJoinedLayers));
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedGradients), SizeIs(kJoinedLayers));
}

// GPT-2 has one product for all three.
TEST(JoinedRuns, AreNotInGpt2) {
  const Program program = joined_step({.architecture = architecture_named("gpt2")});
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedResults), SizeIs(0));
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedGradients), SizeIs(0));
}

TEST(JoinedRuns, NeedVariablesThatLieTogether) {
  Program program = joined_step({});
  program.buckets.clear();
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedResults), SizeIs(0));
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedGradients), SizeIs(0));
  // A bucket for each variable, where they are reduced.
  const Program apart = joined_step({.plan = {.dp = 2}, .bucket_elements = 1});
  EXPECT_THAT(joined_in(apart, FusedKind::kJoinedResults), SizeIs(0));
  // Otherwise buckets lie one after the other, too.
  const Program alone = joined_step({.bucket_elements = 1});
  EXPECT_THAT(joined_in(alone, FusedKind::kJoinedResults), SizeIs(kJoinedLayers));
  EXPECT_THAT(joined_in(alone, FusedKind::kJoinedGradients), SizeIs(kJoinedLayers));
}

// Two ranks have eight columns each of queries, keys and values.
TEST(JoinedRuns, AreThoseOfTensorParallelRanks) {
  using enum OpKind;
  const Program program = joined_step({.plan = {.tp = 2}, .head_width = 4});
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedResults), SizeIs(kJoinedLayers));
  // What there is of dx is added when the ranks' parts are.
  const auto gradients = joined_in(program, FusedKind::kJoinedGradients);
  EXPECT_THAT(gradients, SizeIs(kJoinedLayers));
  EXPECT_THAT(gradients, Each(std::vector{kSumRows, kMatmul, kMatmul, kSumRows, kMatmul, kAdd, kMatmul,
                                          kSumRows, kMatmul, kAdd, kMatmul}));
}

// Gradients of weights wait until the others are on their way: two runs, which read the same rows.
TEST(JoinedRuns, AreTwoWhereGradientsOfWeightsComeLater) {
  using enum OpKind;
  const Program program = joined_step({.plan = {.tp = 2, .sequence_parallel = true}, .head_width = 4});
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedResults), SizeIs(kJoinedLayers));
  const auto gradients = joined_in(program, FusedKind::kJoinedGradients);
  ASSERT_THAT(gradients, SizeIs(2 * kJoinedLayers));
  EXPECT_EQ(gradients[0], (std::vector{kSumRows, kMatmul, kSumRows, kMatmul, kAdd, kSumRows, kMatmul, kAdd}));
  EXPECT_EQ(gradients[1], three_times({kMatmul}));
  const PreparedGraph prepared(program, 0, {.traits = {}, .connected = true});
  EXPECT_THAT(prepared.shared_rows(), SizeIs(2 * kJoinedLayers));  // of results, and of gradients
}

// With four heads of two columns, two ranks have four columns each.
TEST(JoinedRuns, HaveColumnsAtRoundPlacesOnly) {
  const Program program = joined_step({.plan = {.tp = 2}});
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedResults), SizeIs(0));
  EXPECT_THAT(joined_in(program, FusedKind::kJoinedGradients), SizeIs(0));
}

// Bytes of a tensor in the arena or a slot: rows that are `stride` apart.
struct PlacedRows {
  std::int64_t begin, rows, row, stride;
};

bool overlap(const PlacedRows& a, const PlacedRows& b) {
  std::set<std::int64_t> bytes;
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.row; ++j) bytes.insert(a.begin + i * a.stride + j);
  for (std::int64_t i = 0; i < b.rows; ++i)
    for (std::int64_t j = 0; j < b.row; ++j)
      if (bytes.contains(b.begin + i * b.stride + j)) return true;
  return false;
}

// What a kernel writes is not over anything that it or a later kernel of the section's pass reads, unless
// it is the output that takes its place.
void expect_values_apart(const Program& program, std::size_t g, const KernelPlan& plan,
                         const PreparedGraph& prepared) {
  const Graph& graph = program.graphs[g];
  const ProgramMemory memory = plan_program_memory(program, memory_options(program, plan));
  const ProgramMemory::OfGraph& of = memory.graphs[g];
  const auto rows_of = [&](TensorId id) {
    const Tensor& tensor = graph.tensor(id);
    const std::int64_t element = size_of(tensor.dtype);
    const std::int64_t columns = tensor.shape.rank() == 0 ? 1 : tensor.shape[-1];
    const std::int64_t stride = prepared.row_strides().empty() ? 0 : prepared.row_strides()[index(id)];
    return PlacedRows{of.offsets[index(id)], tensor.shape.elements() / columns, columns * element,
                      (stride == 0 ? columns : stride) * element};
  };
  const auto in_slot = [&](TensorId id) { return !of.in_slot.empty() && of.in_slot[index(id)] != 0; };
  const auto end_of = [&](TensorId id) {
    const PlacedRows rows = rows_of(id);
    return rows.begin + (rows.rows - 1) * rows.stride + rows.row;
  };
  std::set<TensorId> shared;
  for (const SharedRows& rows : prepared.shared_rows())
    for (const SharedRows::Columns& columns : rows.values) shared.insert(columns.value);
  ASSERT_FALSE(shared.empty());
  // By value: its first and last kernel.
  std::map<TensorId, std::pair<std::size_t, std::size_t>> lives;
  const auto use = [&](TensorId id, std::size_t kernel) {
    if (id == kNoTensor) return;
    const TensorId root = operand_layout(graph, id).root;
    if (of.offsets[index(root)] == MemoryPlan::kOutsideArena) return;
    lives.try_emplace(root, kernel, kernel).first->second.second = kernel;
  };
  for (std::size_t k = 0; k < prepared.kernels().size(); ++k)
    for (std::uint32_t i = prepared.kernels()[k].first_op; i < prepared.kernels()[k].end_op; ++i) {
      for (const TensorId input : graph.ops()[i].inputs) use(input, k);
      for (const OpOutput& output : graph.ops()[i].outputs) use(output.tensor, k);
    }
  for (const TensorId value : shared) {
    ASSERT_TRUE(lives.contains(value));
    EXPECT_LE(end_of(value), in_slot(value) ? of.slot.count() : of.plan.arena.count());
    for (const auto& [other, life] : lives) {
      if (other == value || in_slot(other) != in_slot(value)) continue;
      if (life.first > lives.at(value).second || life.second < lives.at(value).first) continue;
      EXPECT_FALSE(overlap(rows_of(value), rows_of(other)))
          << graph.tensor(value).name << " and " << graph.tensor(other).name;
    }
  }
}

TEST(JoinedRuns, ShareRowsThatNobodyElseIsIn) {
  const Recompute full{.granularity = Recompute::Granularity::kFull};
  for (const JoinCase& c :
       {JoinCase{}, JoinCase{.architecture = architecture_named("llama")},
        JoinCase{.plan = {.micro_batches = 2}}, JoinCase{.recompute = full},
        JoinCase{.architecture = architecture_named("llama"), .plan = {.pp = 3, .micro_batches = 4}}}) {
    const Program program = joined_step(c);
    const PreparedGraph prepared(program, 0, {.connected = true});
    expect_values_apart(program, 0, plan_cuda_kernels(program, {}, true), prepared);
  }
}

// Values are no larger together than they are apart, but for the sum of gradients that no longer takes the
// place of its summand.
TEST(JoinedRuns, TakeWhatTheKernelPlanSays) {
  const Program program = joined_step({});
  const PreparedGraph prepared(program, 0, {});
  for (const SharedRows& rows : prepared.shared_rows()) {
    std::int64_t apart = 0;
    for (const SharedRows::Columns& columns : rows.values) {
      EXPECT_EQ(columns.offset % 16, 0);
      apart += program.graphs[0].tensor(columns.value).size().count();
    }
    EXPECT_EQ(rows.size, apart);
  }
}

}  // namespace
}  // namespace nadi::inline engines::cuda
