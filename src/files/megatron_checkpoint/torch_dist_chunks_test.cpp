#include "nadi/megatron_checkpoint/torch_dist_chunks.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "nadi/megatron_checkpoint/shards_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline files {
namespace {

// Puts the chunks together again, whatever their size, and compares with the tensors of the layout.
void expect_whole_tensors(Architecture architecture, const TorchDistCut& cut) {
  ModelInMemory memory(tiny_model(architecture, 3));
  const BlockSource model(memory.shards({.padded_vocabulary = 16}));
  const ShardLayout layout(memory.config(), {.padded_vocabulary = 16, .whole_vocabulary = 16});
  const PlannedTensors planned = torch_dist_chunks(model, layout, cut);
  const std::vector<ShardTensor> tensors = layout.global();
  ASSERT_EQ(planned.tensors.size(), tensors.size());

  std::deque<std::vector<float>> parts;
  std::vector<ChunkedTensor> joined;
  for (const PlannedTensor& tensor : planned.tensors) joined.emplace_back(tensor.shape, 4);
  std::set<std::size_t> files;
  for (const PlannedChunk& chunk : planned.chunks) {
    files.insert(chunk.file);
    parts.push_back(memory.elements(ShardTensor{.name = "", .shape = {}, .blocks = chunk.blocks}));
    ASSERT_EQ(static_cast<std::int64_t>(parts.back().size()), chunk.box.sizes.elements());
    joined[chunk.tensor].add(chunk.box, std::as_bytes(std::span(parts.back())));
  }
  EXPECT_EQ(files.size(), static_cast<std::size_t>(cut.files));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    joined[i].settle(planned.tensors[i].name, "");
    const std::vector<float> wanted = memory.elements(tensors[i]);
    std::vector<float> got(wanted.size());
    joined[i].read(0, static_cast<std::int64_t>(got.size()), std::as_writable_bytes(std::span(got)));
    EXPECT_EQ(got, wanted) << planned.tensors[i].name;
  }
}

TEST(TorchDistChunks, TogetherAreTheTensors) {
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("llama"), architecture_named("bert")})
    for (const std::int64_t largest : {1, 100, 1 << 20})
      expect_whole_tensors(architecture, {.files = 3, .largest_chunk = largest});
}

TEST(TorchDistChunks, FlattenedOnesAreRangesOfALayer) {
  ModelInMemory memory(tiny_model(architecture_named("llama"), 2));
  BlockSource::Contents contents = memory.shards({.padded_vocabulary = 16});
  const std::vector<MappedShard> parameters = contents.shards;
  for (const MappedShard& shard : parameters)
    for (const std::string_view suffix : {kFirstMoment, kSecondMoment}) {
      MappedShard state = shard;
      state.tensor = with_suffix(state.tensor, suffix);
      contents.shards.push_back(std::move(state));
    }
  const BlockSource model(std::move(contents));
  const ShardLayout layout(memory.config(), {.padded_vocabulary = 16, .whole_vocabulary = 16});
  const PlannedTensors planned =
      torch_dist_chunks(model, layout, {.distributed_optimizer = true, .largest_chunk = 200});
  ASSERT_EQ(planned.tensors.size(), 3 * layout.global().size());
  int flattened = 0;
  for (std::size_t i = 0; i < planned.tensors.size(); ++i) {
    const PlannedTensor& tensor = planned.tensors[i];
    const bool of_optimizer = tensor.name.starts_with("optimizer.state.exp_avg");
    EXPECT_EQ(tensor.flattened.rank() > 0, of_optimizer) << tensor.name;
    if (!of_optimizer) continue;
    ++flattened;
    EXPECT_EQ(tensor.flattened.elements(), tensor.shape.elements()) << tensor.name;
    if (tensor.name == "optimizer.state.exp_avg.decoder.layers.mlp.linear_fc1.weight") {
      EXPECT_EQ(tensor.shape, (Shape{2, 24, 8}));
      EXPECT_EQ(tensor.flattened, (Shape{2, 1, 1, 192}));
    }
    if (tensor.name == "optimizer.state.exp_avg.decoder.final_layernorm.weight") {
      EXPECT_EQ(tensor.flattened, (Shape{1, 8}));
    }
    // Ranges of each layer follow each other.
    std::int64_t layer = 0, next = 0;
    for (const PlannedChunk& chunk : planned.chunks) {
      if (chunk.tensor != i) continue;
      if (chunk.box.offsets[-1] == 0 && next > 0) ++layer, next = 0;
      EXPECT_EQ(chunk.box.offsets[-1], next);
      if (tensor.flattened[0] > 1) {
        EXPECT_EQ(chunk.box.offsets[0], layer);
      }
      next += chunk.box.sizes[-1];
      EXPECT_LE(chunk.box.sizes[-1] * 4, 200);
    }
    EXPECT_EQ(next, tensor.flattened[-1]);
  }
  EXPECT_EQ(flattened, static_cast<int>(2 * layout.global().size()));
}

}  // namespace
}  // namespace nadi::inline files
