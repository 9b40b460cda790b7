#include "nadi/megatron_checkpoint/block_source.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/megatron_checkpoint/shards_for_tests.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class BlockSourceTest : public testing::Test {
 protected:
  static MegatronSplit split() { return {.tp = 2, .pp = 2, .padded_vocabulary = 16}; }

  // The shards of the split as a source of all its rows, padded ones too.
  BlockSource::Contents contents(const ModelConfig& config, const MegatronSplit& split) {
    model_.emplace(config);
    return model_->shards(split);
  }

  std::optional<ModelInMemory> model_;
};

// Every block of every tensor, read from shards and computed from the numbers of the elements.
TEST_F(BlockSourceTest, ReadsEveryBlockOfEveryTensor) {
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama")}) {
    const ModelConfig config = tiny_model(architecture, 2);
    const BlockSource source(contents(config, split()));
    for (const WantedTensor& parameter : whole_parameters(config)) {
      const WholeTensor& tensor = source.at(parameter.name);
      EXPECT_EQ(tensor.shape, parameter.shape);
      for (const std::int64_t row : {std::int64_t{0}, tensor.rows() / 2})
        for (const std::int64_t column : {std::int64_t{0}, tensor.columns() / 2}) {
          const TensorBlock block{.row = row,
                                  .rows = tensor.rows() - row,
                                  .column = column,
                                  .columns = tensor.columns() - column};
          std::vector<float> read(static_cast<std::size_t>(block.elements()));
          source.read(tensor, block, std::as_writable_bytes(std::span(read)));
          EXPECT_EQ(read, model_->elements(tensor.name, block)) << tensor.name;
        }
    }
  }
}

TEST_F(BlockSourceTest, ShowsWhatFollowsEachOtherInAFile) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 2);
  const BlockSource source(contents(config, split()));
  const WholeTensor& words = source.at("model.embed_tokens.weight");
  EXPECT_EQ(words.shape, (Shape{13, 8}));
  EXPECT_EQ(words.stored_rows, 16);
  EXPECT_EQ(words.place, "mp_rank_00_000 and 1 other");
  EXPECT_TRUE(source.view(words, {.row = 2, .rows = 6, .columns = 8}));
  EXPECT_FALSE(source.view(words, {.row = 2, .rows = 7, .columns = 8}));  // goes over to the next rank
  EXPECT_FALSE(source.view(words, {.row = 2, .rows = 6, .columns = 4}));
  EXPECT_TRUE(source.view(words, {.row = 2, .rows = 1, .columns = 4}));
}

TEST_F(BlockSourceTest, ListsParametersThenOptimizerState) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 1);
  BlockSource::Contents all = contents(config, {.padded_vocabulary = 16});
  const std::vector<MappedShard> parameters = all.shards;
  for (MappedShard shard : parameters) {
    shard.tensor = with_suffix(std::move(shard.tensor), kFirstMoment);
    all.shards.insert(all.shards.begin(), std::move(shard));
  }
  const BlockSource source(std::move(all));
  EXPECT_EQ(source.tensors()[0].name, "model.embed_tokens.weight");
  EXPECT_EQ(source.tensors()[source.tensors().size() / 2].name, "model.embed_tokens.weight.m");
}

TEST_F(BlockSourceTest, RefusesPartsThatDoNotFitTogether) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 2);
  const auto message = [&](auto&& damage) -> std::string {
    BlockSource::Contents all = contents(config, split());
    damage(all);
    try {
      const BlockSource source(std::move(all));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "";
  };
  const auto shard_of = [](BlockSource::Contents& all, const std::string& file, const std::string& name) {
    for (auto it = all.shards.begin(); it != all.shards.end(); ++it)
      if (it->file == file && it->tensor.name == name) return it;
    return all.shards.end();
  };
  EXPECT_THAT(
      message([&](auto& all) {
        all.shards.erase(shard_of(all, "mp_rank_00_001", "decoder.layers.0.mlp.linear_fc2.weight"));
      }),
      HasSubstr(
          "of 'model.layers.1.mlp.down_proj.weight' (decoder.layers.0.mlp.linear_fc2.weight) only 48 of "
          "96 elements are there"));
  EXPECT_THAT(message([&](auto& all) {
                std::erase_if(all.shards,
                              [](const MappedShard& s) { return s.tensor.name == "output_layer.weight"; });
              }),
              HasSubstr("the checkpoint has no 'lm_head.weight'"));
  EXPECT_THAT(
      message([&](auto& all) {
        shard_of(all, "mp_rank_01_000", "embedding.word_embeddings.weight")->dtype = FileDType::kI32;
      }),
      StartsWith("mp_rank_01_000: 'embedding.word_embeddings.weight' is I32, but F32 in mp_rank_00_000"));
  EXPECT_THAT(message([&](auto& all) { all.config.ffn_width = 24; }),
              HasSubstr("but the configuration says"));
  const std::vector<float> other(8, 0.5F);
  EXPECT_THAT(message([&](auto& all) {
                shard_of(all, "mp_rank_01_001", "decoder.final_layernorm.weight")->data =
                    std::as_bytes(std::span(other)).data();
              }),
              StartsWith("mp_rank_01_001: 'decoder.final_layernorm.weight' differs from "
                         "'decoder.final_layernorm.weight' in mp_rank_00_001"));
}

// Chunks of stacked tensors, as torch_dist has them: put together they are the model.
TEST_F(BlockSourceTest, CutsTensorsIntoChunks) {
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama")}) {
    const ModelConfig config = tiny_model(architecture, 2);
    model_.emplace(config);
    const ShardLayout layout(config, {.tp = 2, .padded_vocabulary = 16, .whole_vocabulary = 16});
    std::vector<ShardTensor> chunks;
    for (const ShardTensor& tensor : layout.global()) {
      const bool is_vector = tensor.shape.rank() == 1;
      const std::int64_t columns = is_vector ? 1 : tensor.shape[-1];
      const std::int64_t rows = tensor.shape.elements() / columns;
      for (std::int64_t row = 0; row < 2; ++row)
        for (std::int64_t column = 0; column < (columns > 1 ? 2 : 1); ++column) {
          const std::int64_t width = columns > 1 ? columns / 2 : 1;
          chunks.push_back(cut_tensor(tensor,
                                      {.row = row * (rows / 2),
                                       .rows = row == 0 ? rows / 2 : rows - rows / 2,
                                       .column = column * width,
                                       .columns = width},
                                      {}));
        }
    }
    const BlockSource source(model_->mapped(chunks));
    for (const WholeTensor& tensor : source.tensors()) {
      std::vector<float> read(static_cast<std::size_t>(tensor.shape.elements()));
      source.read(tensor, tensor.whole(), std::as_writable_bytes(std::span(read)));
      EXPECT_EQ(read, model_->elements(tensor.name, tensor.whole())) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace nadi::inline files
