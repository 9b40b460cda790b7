#include "nadi/parallel/chunk_family.h"

#include <gtest/gtest.h>

#include <string>

#include "nadi/base/format.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline describe {
namespace {

// All of a graph but the names of ops and values.
void expect_same_graph(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (std::size_t t = 0; t < a.tensors().size(); ++t) {
    const Tensor &of_a = a.tensors()[t], &of_b = b.tensors()[t];
    ASSERT_EQ(of_a.shape, of_b.shape)
        << of_b.name << ": " << of_a.shape.to_string() << " and " << of_b.shape.to_string();
    EXPECT_EQ(of_a.dtype, of_b.dtype);
    EXPECT_EQ(of_a.role, of_b.role);
    EXPECT_EQ(of_a.variable, of_b.variable);
    EXPECT_TRUE(of_a.initializer == of_b.initializer) << of_b.name;
    EXPECT_EQ(of_a.shares_memory, of_b.shares_memory);
    EXPECT_EQ(of_a.producer, of_b.producer);
    if (of_a.producer == kNoOp) {
      EXPECT_EQ(of_a.name, of_b.name);
    }
  }
  ASSERT_EQ(a.ops().size(), b.ops().size());
  for (std::size_t o = 0; o < a.ops().size(); ++o) {
    const Op &of_a = a.ops()[o], &of_b = b.ops()[o];
    ASSERT_EQ(of_a.kind, of_b.kind);
    EXPECT_EQ(of_a.inputs, of_b.inputs);
    EXPECT_TRUE(of_a.attributes == of_b.attributes) << of_b.name;
    EXPECT_EQ(of_a.phase, of_b.phase);
    EXPECT_EQ(of_a.block, of_b.block);
    EXPECT_EQ(of_a.core_attention, of_b.core_attention);
    EXPECT_EQ(a.layer(of_a.layer), b.layer(of_b.layer));
    ASSERT_EQ(of_a.outputs.size(), of_b.outputs.size());
    for (std::size_t i = 0; i < of_a.outputs.size(); ++i) {
      EXPECT_EQ(of_a.outputs[i].tensor, of_b.outputs[i].tensor);
      EXPECT_EQ(of_a.outputs[i].accumulate, of_b.outputs[i].accumulate);
    }
  }
}

// The graph of a program, which has names.
ChunkGraph named_chunk(const ModelConfig& config, const ChunkKey& key) {
  const Plan plan = smallest_plan(key);
  return build_chunk(config, plan,
                     {.options = {.mode = ForwardMode::kTrain,
                                  .batch_size = key.micro_batch_size,
                                  .seq_length = key.seq_length / key.cp,
                                  .dtype = key.dtype,
                                  .fp8 = key.fp8,
                                  .fused_attention = key.fused_attention},
                      .whole_tokens = key.seq_length,
                      .number = key.first ? 0 : 1,
                      .chunks = plan.pp,
                      .first_layer = 0,
                      .end_layer = kUnitsBuilt * key.layers_per_unit(),
                      .recompute = {key.granularity, key.method, key.recomputed_layers},
                      .accumulate = key.accumulates});
}

TEST(ChunkFamily, OneGraphServesForEverySizeAndNumberOfMicroBatches) {
  for (const char* name : {"gpt2-tiny", "bert-tiny", "llama-tiny"}) {
    const ModelConfig* config = find_built_in_model(name);
    ASSERT_NE(config, nullptr) << name;
    for (int variant = 0; variant < 64; ++variant) {
      ChunkKey key{.tp = (variant & 1) != 0 ? 2 : 1,
                   .cp = (variant & 32) != 0 && config->architecture != architecture_named("bert") ? 2 : 1,
                   .seq_length = 32,
                   .dtype = (variant & 2) != 0 ? DType::kF16 : DType::kF32,
                   .fused_attention = (variant & 4) == 0 || (variant & 32) != 0,
                   .first = (variant & 8) != 0,
                   .last = (variant & 16) != 0,
                   .reduces = (variant & 8) != 0 && (variant & 2) != 0};
      key.sequence_parallel = key.tp > 1 && (variant & 4) != 0 && key.cp == 1;
      if ((variant & 2) == 0) key.granularity = Recompute::Granularity::kFull;
      ChunkFamily family(*config, key);
      for (const std::int64_t size : {4, 1, 3}) {
        SCOPED_TRACE(format("{} variant {} size {}", name, variant, size));
        key.micro_batch_size = size;
        for (const bool accumulates : {false, true}) {
          key.accumulates = accumulates;
          expect_same_graph(family.graph({.size = size, .accumulates = accumulates}).graph,
                            named_chunk(*config, key).graph);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// A model whose width is a multiple of the prime that graphs are built with: another prime serves.
TEST(ChunkFamily, SizesOfTheModelAreToldFromTheBatch) {
  ModelConfig config = *find_built_in_model("gpt2-tiny");
  config.vocabulary = GraphBatch::kPrimes[0];
  ChunkKey key{.seq_length = 32, .first = true, .last = true, .accumulates = true};
  ChunkFamily family(config, key);
  key.micro_batch_size = 2;
  expect_same_graph(family.graph({.size = 2, .accumulates = true}).graph, named_chunk(config, key).graph);
}

}  // namespace
}  // namespace nadi::inline describe
