#include "nadi/megatron_checkpoint/shard_layout.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Whole tensors whose elements are all different, over the whole model: an element's number tells its place.
struct NumberedModel {
  std::map<std::string, Shape> shapes;
  std::map<std::string, std::int64_t> first;
  std::int64_t count = 0;

  explicit NumberedModel(const ModelConfig& config) {
    for (const WantedTensor& tensor : whole_parameters(config)) add(tensor.name, tensor.shape);
  }
  void add(const std::string& name, const Shape& shape) {
    shapes[name] = shape;
    first[name] = count;
    count += shape.elements();
  }
  std::int64_t columns(const std::string& name) const {
    return shapes.at(name).rank() == 1 ? 1 : shapes.at(name)[1];
  }
  std::int64_t at(const std::string& name, std::int64_t row, std::int64_t column) const {
    EXPECT_LT(row, shapes.at(name)[0]) << name;
    EXPECT_LT(column, columns(name)) << name;
    return first.at(name) + row * columns(name) + column;
  }
  std::vector<std::int64_t> elements(const ShardTensor& tensor) const {
    std::vector<std::int64_t> out;
    for (const ShardBlock& b : tensor.blocks) {
      const std::int64_t rows = b.transposed ? b.block.columns : b.block.rows;
      const std::int64_t columns = b.transposed ? b.block.rows : b.block.columns;
      for (std::int64_t copy = 0; copy < std::max<std::int64_t>(1, b.padding); ++copy)
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            out.push_back(b.transposed ? at(b.tensor, b.block.row + j, b.block.column + i)
                                       : at(b.tensor, b.block.row + i, b.block.column + j));
    }
    return out;
  }
};

std::vector<ShardTensor> all_shards(const ShardLayout& layout) {
  std::vector<ShardTensor> shards;
  for (std::int64_t pp = 0; pp < layout.split().pp; ++pp)
    for (std::int64_t tp = 0; tp < layout.split().tp; ++tp)
      for (ShardChunk& chunk : layout.rank({.tp = tp, .pp = pp}))
        std::ranges::move(chunk.tensors, std::back_inserter(shards));
  return shards;
}

std::vector<const ShardTensor*> pointers(const std::vector<ShardTensor>& shards) {
  std::vector<const ShardTensor*> list;
  for (const ShardTensor& shard : shards) list.push_back(&shard);
  return list;
}

// Cuts the model into shards and puts it together again from them.
void expect_round_trip(const ModelConfig& config, const MegatronSplit& split) {
  SCOPED_TRACE(config.name + " tp " + std::to_string(split.tp) + " pp " + std::to_string(split.pp) + " vp " +
               std::to_string(split.virtual_stages));
  NumberedModel whole(config);
  if (split.bert_binary_head) {
    whole.add("bert.pooler.dense.weight", {config.width, config.width});
    whole.add("bert.pooler.dense.bias", {config.width});
    whole.add("cls.seq_relationship.weight", {2, config.width});
    whole.add("cls.seq_relationship.bias", {2});
  }
  const ShardLayout layout(config, split);
  const std::vector<ShardTensor> shards = all_shards(layout);
  std::vector<std::vector<std::int64_t>> data;
  for (const ShardTensor& shard : shards) {
    data.push_back(whole.elements(shard));
    ASSERT_EQ(static_cast<std::int64_t>(data.back().size()), shard.shape.elements()) << shard.name;
  }
  std::vector<int> covered(static_cast<std::size_t>(whole.count), 0);
  for (const WholeIndexEntry& entry : whole_index(pointers(shards))) {
    const auto visit = [&](const WholePiece& piece, bool counts) {
      const TensorBlock& b = piece.block;
      std::int64_t at = piece.first;
      for (std::int64_t i = 0; i < (piece.transposed ? b.columns : b.rows); ++i)
        for (std::int64_t j = 0; j < (piece.transposed ? b.rows : b.columns); ++j) {
          const std::int64_t number = piece.transposed ? whole.at(entry.name, b.row + j, b.column + i)
                                                       : whole.at(entry.name, b.row + i, b.column + j);
          ASSERT_EQ(data[piece.shard][static_cast<std::size_t>(at++)], number) << entry.name;
          if (counts) ++covered[static_cast<std::size_t>(number)];
        }
    };
    for (const WholePiece& piece : entry.pieces) visit(piece, true);
    for (const WholePiece& piece : entry.replicas) visit(piece, false);
  }
  EXPECT_EQ(std::ranges::count(covered, 1), whole.count);
}

TEST(ShardLayout, EverySplitCoversEveryElementOnce) {
  for (const Architecture& architecture : {architecture_named("gpt2"), architecture_named("bert"),
                                           architecture_named("llama"), architecture_named("qwen3")})
    for (const bool tied : {false, true})
      for (const std::int64_t tp : {1, 2, 4})
        for (const std::int64_t pp : {1, 2, 4})
          for (const std::int64_t virtual_stages : {1, 2}) {
            if (virtual_stages > 1 && pp == 1) continue;
            ModelConfig config = tiny_model(architecture, 8);
            config.tied_embeddings = tied;
            for (const MegatronNaming naming : {MegatronNaming::kLocal, MegatronNaming::kTransformerEngine})
              expect_round_trip(config,
                                {.tp = tp,
                                 .pp = pp,
                                 .virtual_stages = virtual_stages,
                                 .naming = naming,
                                 .padded_vocabulary = 16,
                                 .bert_binary_head = architecture == architecture_named("bert") && tied});
          }
}

TEST(ShardLayout, TakesUnevenPartitionsAndEmptyStages) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 5);
  expect_round_trip(config, {.pp = 3, .partition = {1, 4, 0}, .padded_vocabulary = 16});
  expect_round_trip(
      config, {.tp = 2, .pp = 2, .virtual_stages = 2, .partition = {1, 2, 0, 2}, .padded_vocabulary = 16});
}

// The reference: rows of the whole, packed by hand as Megatron's converter does.
TEST(ShardLayout, PacksQueriesKeysAndValuesByGroup) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 1);  // 8 heads, 4 groups, heads of 2
  const NumberedModel whole(config);
  const std::string prefix = "model.layers.0.self_attn.";
  for (const std::int64_t tp : {1, 2, 4})
    for (std::int64_t place = 0; place < tp; ++place) {
      std::vector<std::int64_t> expected;
      const auto rows = [&](const std::string& name, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
          for (std::int64_t column = 0; column < 8; ++column) expected.push_back(whole.at(name, row, column));
      };
      for (std::int64_t group = place * 4 / tp; group < (place + 1) * 4 / tp; ++group) {
        rows(prefix + "q_proj.weight", group * 4, group * 4 + 4);
        rows(prefix + "k_proj.weight", group * 2, group * 2 + 2);
        rows(prefix + "v_proj.weight", group * 2, group * 2 + 2);
      }
      const ShardLayout layout(config, {.tp = tp, .naming = MegatronNaming::kLocal, .padded_vocabulary = 16});
      const std::vector<ShardTensor> tensors = layout.rank({.tp = place}).front().tensors;
      EXPECT_EQ(whole.elements(tensors[3]), expected);
      EXPECT_EQ(tensors[3].name, "decoder.layers.0.self_attention.linear_qkv.weight");
    }
}

std::vector<std::string> names_of(const std::vector<ShardTensor>& tensors) {
  std::vector<std::string> names;
  for (const ShardTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

TEST(ShardLayout, NamesTensorsAsMegatronDoes) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 2);
  EXPECT_THAT(
      names_of(ShardLayout(config, {.pp = 2, .naming = MegatronNaming::kLocal}).rank({.pp = 1})[0].tensors),
      ElementsAre(
          "decoder.layers.0.input_layernorm.weight", "decoder.layers.0.self_attention.linear_proj.weight",
          "decoder.layers.0.self_attention.linear_qkv.weight", "decoder.layers.0.pre_mlp_layernorm.weight",
          "decoder.layers.0.mlp.linear_fc1.weight", "decoder.layers.0.mlp.linear_fc2.weight",
          "decoder.final_layernorm.weight", "output_layer.weight"));
  EXPECT_THAT(
      names_of(ShardLayout(config, {.pp = 2}).rank({.pp = 0})[0].tensors),
      ElementsAre("embedding.word_embeddings.weight", "decoder.layers.0.self_attention.linear_proj.weight",
                  "decoder.layers.0.self_attention.linear_qkv.layer_norm_weight",
                  "decoder.layers.0.self_attention.linear_qkv.weight",
                  "decoder.layers.0.mlp.linear_fc1.layer_norm_weight",
                  "decoder.layers.0.mlp.linear_fc1.weight", "decoder.layers.0.mlp.linear_fc2.weight"));
  ModelConfig bert = tiny_model(architecture_named("bert"), 1);
  const std::vector<std::string> names = names_of(
      ShardLayout(bert, {.naming = MegatronNaming::kLocal, .bert_binary_head = true}).rank({})[0].tensors);
  EXPECT_THAT(
      std::vector(names.begin(), names.begin() + 4),
      ElementsAre("embedding.word_embeddings.weight", "embedding.position_embeddings.weight",
                  "embedding.tokentype_embeddings.weight", "encoder.layers.0.input_layernorm.weight"));
  EXPECT_THAT(std::vector(names.end() - 11, names.end()),
              ElementsAre("encoder.final_layernorm.weight", "encoder.final_layernorm.bias",
                          "lm_head.dense.weight", "lm_head.dense.bias", "lm_head.layer_norm.weight",
                          "lm_head.layer_norm.bias", "output_layer.bias", "binary_head.weight",
                          "binary_head.bias", "pooler.dense.weight", "pooler.dense.bias"));
}

// 13 rows become 16 over 4 ranks: the last rank has row 12 and three copies of it.
// Behind the product whose columns they norm; on every rank, whole.
TEST(ShardLayout, NormsOfHeadsAreOnEveryRank) {
  ModelConfig config = tiny_model(architecture_named("qwen3"), 1);
  const ShardLayout layout(config, {.tp = 4, .padded_vocabulary = 16});
  for (const std::int64_t tp : {0, 3}) {
    const std::vector<ShardTensor> tensors = layout.rank({.tp = tp})[0].tensors;
    const auto named = [&](const char* name) { return std::ranges::find(tensors, name, &ShardTensor::name); };
    const auto query = named("decoder.layers.0.self_attention.q_layernorm.weight");
    ASSERT_NE(query, tensors.end());
    EXPECT_EQ(query->shape, Shape{config.head_width});
    EXPECT_EQ(query->blocks[0].tensor, "model.layers.0.self_attn.q_norm.weight");
    EXPECT_EQ((query - 1)->name, "decoder.layers.0.self_attention.linear_qkv.weight");
    EXPECT_EQ((query + 1)->name, "decoder.layers.0.self_attention.k_layernorm.weight");
  }
}

TEST(ShardLayout, AddsCopiesOfTheLastRowOfTheVocabulary) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 1);
  const NumberedModel whole(config);
  const ShardLayout layout(config, {.tp = 4, .padded_vocabulary = 16});
  const ShardTensor words = layout.rank({.tp = 3}).front().tensors.front();
  std::vector<std::int64_t> expected;
  for (int copy = 0; copy < 4; ++copy)
    for (std::int64_t column = 0; column < 8; ++column)
      expected.push_back(whole.at("model.embed_tokens.weight", 12, column));
  EXPECT_EQ(whole.elements(words), expected);
  EXPECT_EQ(words.shape, (Shape{4, 8}));
  // Where the source has trained rows there, they are taken.
  const ShardLayout longer(config, {.tp = 4, .padded_vocabulary = 16, .whole_vocabulary = 16});
  EXPECT_THAT(longer.rank({.tp = 3}).front().tensors.front().blocks,
              ElementsAre(ShardBlock{.tensor = "model.embed_tokens.weight",
                                     .block = {.row = 12, .rows = 4, .columns = 8}}));
  EXPECT_EQ(padded_vocabulary(128256, 8), 129024);
  EXPECT_EQ(padded_vocabulary(256, 2), 256);
}

TEST(ShardLayout, PutsInterleavedChunksWhereMegatronDoes) {
  const ShardLayout layout(tiny_model(architecture_named("llama"), 8), {.pp = 2, .virtual_stages = 2});
  const std::vector<ShardChunk> chunks = layout.rank({.pp = 1});
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0].key, "model0");
  EXPECT_EQ(chunks[0].first_layer, 2);
  EXPECT_EQ(chunks[1].key, "model1");
  EXPECT_EQ(chunks[1].first_layer, 6);
  EXPECT_EQ(chunks[1].tensors.back().name, "output_layer.weight");
  EXPECT_EQ(chunks[1].tensors.front().name, "decoder.layers.0.self_attention.linear_proj.weight");
  EXPECT_EQ(shard_folder(layout.split(), {.tp = 3, .pp = 1}), "mp_rank_03_001");
  EXPECT_EQ(shard_folder({.tp = 8}, {.tp = 3}), "mp_rank_03");
}

TEST(ShardLayout, StacksLayersInTheGlobalForm) {
  const ModelConfig config = tiny_model(architecture_named("gpt2"), 3);
  const NumberedModel whole(config);
  const ShardLayout layout(config, {.tp = 2, .pp = 3, .padded_vocabulary = 16});
  const std::vector<ShardTensor> tensors = layout.global();
  std::map<std::string, const ShardTensor*> by_name;
  for (const ShardTensor& tensor : tensors) {
    by_name[tensor.name] = &tensor;
    EXPECT_EQ(static_cast<std::int64_t>(whole.elements(tensor).size()), tensor.shape.elements());
  }
  const ShardTensor& norm = *by_name.at("decoder.layers.self_attention.linear_qkv.layer_norm_weight");
  EXPECT_EQ(norm.shape, (Shape{3, 8}));
  EXPECT_EQ(whole.elements(norm)[17], whole.at("transformer.h.2.ln_1.weight", 1, 0));
  EXPECT_EQ(by_name.at("decoder.layers.mlp.linear_fc1.weight")->shape, (Shape{3, 12, 8}));
  EXPECT_EQ(by_name.at("embedding.word_embeddings.weight")->shape, (Shape{16, 8}));
  EXPECT_EQ(by_name.count("output_layer.weight"), 0u);
}

TEST(ShardLayout, RefusesSplitsThatDoNotDivide) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 6);
  const auto message = [&](const MegatronSplit& split) -> std::string {
    try {
      const ShardLayout layout(config, split);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.message();
    }
    return "";
  };
  EXPECT_THAT(message({.tp = 3}),
              HasSubstr("4 groups of queries do not divide over 3 tensor-parallel ranks"));
  EXPECT_THAT(message({.virtual_stages = 2}), HasSubstr("2 virtual stages want several pipeline stages"));
  EXPECT_THAT(message({.pp = 2, .virtual_stages = 2}),
              HasSubstr("6 layers do not divide over 4 virtual stages"));
  EXPECT_THAT(message({.pp = 7}), HasSubstr("6 layers do not fill 7 pipeline stages"));
  EXPECT_THAT(message({.pp = 2, .partition = {3, 4}}), HasSubstr("7 layers in 2 parts"));
}

}  // namespace
}  // namespace nadi::inline files
