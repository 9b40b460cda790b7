#include "nadi/checkpoint/pretrained_folder.h"

#include <gmock/gmock.h>

#include <array>

#include "nadi/base/atomic_file.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/weight_writer.h"
#include "nadi/graph/builder.h"
#include "nadi/model/config_file.h"
#include "nadi/model/config_writer.h"
#include "nadi/model/model.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ModelConfig tiny(Architecture architecture) {
  const bool llama = architecture->rotary();
  return {.name = "tiny",
          .architecture = architecture,
          .vocabulary = 11,
          .positions = 8,
          .layers = 1,
          .width = 4,
          .heads = 2,
          .kv_heads = 2,
          .head_width = 2,
          .ffn_width = 6,
          .token_types = architecture == architecture_named("bert") ? 2 : 0,
          .attention_bias = !llama || architecture == architecture_named("qwen2"),
          .attention_output_bias = !llama,
          .ffn_bias = !llama};
}

// What a graph of this model asks for.
std::vector<WantedTensor> parameters(const ModelConfig& config) {
  GraphBuilder builder;
  Layers layers(builder, config, {.seq_length = 4});
  build_forward(config, layers);
  const Graph graph = builder.take();
  std::vector<WantedTensor> wanted;
  for (const TensorId id : graph.tensors_with(Role::kParameter))
    wanted.push_back({graph.tensor(id).name, graph.tensor(id).shape});
  return wanted;
}

class PretrainedFolderTest : public FolderTest {
 protected:
  // A tensor of the file holds its first number in `number`, then zeros.
  struct InFile {
    std::string name;
    Shape shape;
    float number = 0;
  };

  void write_weights(const std::vector<InFile>& tensors, const std::string& name = "model.safetensors",
                     WeightFormat format = WeightFormat::kSafetensors) {
    std::vector<std::vector<float>> values;
    for (const InFile& tensor : tensors) {
      values.emplace_back(static_cast<std::size_t>(tensor.shape.elements()));
      if (!values.back().empty()) values.back()[0] = tensor.number;
    }
    std::vector<TensorToWrite> to_write;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      to_write.push_back(
          {.name = tensors[i].name, .shape = tensors[i].shape, .bytes = std::as_bytes(std::span(values[i]))});
    AtomicFile file(folder_ / name, Overwrite::kAllow);
    nadi::write_weights(file, format, std::move(to_write));
    file.commit();
  }

  void write_config(const ModelConfig& config) { write_text(folder_ / "config.json", config_json(config)); }

  // The parameters of the model, numbered, with names changed by `rename`; an empty name leaves it out.
  template <typename Rename>
  std::vector<InFile> renamed(const ModelConfig& config, Rename rename) {
    std::vector<InFile> tensors;
    float number = 1;
    for (const WantedTensor& wanted : parameters(config)) {
      const std::string name = rename(wanted.name);
      if (!name.empty()) tensors.push_back({name, wanted.shape, number});
      ++number;
    }
    return tensors;
  }

  // Matches the whole model and checks that every parameter got its own tensor.
  std::vector<std::string> unused_of(const ModelConfig& config) {
    const PretrainedFolder folder(folder_.path());
    const std::vector<WantedTensor> wanted = parameters(config);
    const PretrainedMatch match = folder.match(wanted);
    EXPECT_EQ(match.tensors.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::vector<float> values(static_cast<std::size_t>(wanted[i].shape.elements()));
      match.tensors[i]->read(DType::kF32, std::as_writable_bytes(std::span(values)));
      EXPECT_EQ(values[0], static_cast<float>(i + 1)) << wanted[i].name;
    }
    return match.unused;
  }

  Error match_error(const std::vector<WantedTensor>& wanted) {
    const auto error = error_of([&] { PretrainedFolder(folder_.path()).match(wanted); });
    EXPECT_TRUE(error);
    EXPECT_TRUE(!error || error->kind() == ErrorKind::kInput);
    return error.value_or(usage_error("no error"));
  }
};

std::string without(const std::string& prefix, const std::string& name) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

TEST_F(PretrainedFolderTest, NamesOfToday) {
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama"),
        architecture_named("mistral"), architecture_named("qwen2"), architecture_named("qwen3")}) {
    const ModelConfig config = tiny(architecture);
    write_config(config);
    write_weights(renamed(config, [](const std::string& name) { return name; }));
    EXPECT_THAT(unused_of(config), IsEmpty());
  }
}

// As gpt2 is on the hub: saved without the head, with causal masks as buffers.
TEST_F(PretrainedFolderTest, Gpt2OfTheHub) {
  const ModelConfig config = tiny(architecture_named("gpt2"));
  write_config(config);
  auto tensors = renamed(config, [](const std::string& name) { return without("transformer.", name); });
  tensors.push_back({"h.0.attn.bias", {1, 1, 8, 8}});
  tensors.push_back({"h.0.attn.masked_bias", {}});
  write_weights(tensors);
  EXPECT_THAT(unused_of(config), ElementsAre("h.0.attn.bias", "h.0.attn.masked_bias"));
}

// As bert-base-uncased is on the hub: with Google's names of norms and the parts of pre-training.
TEST_F(PretrainedFolderTest, BertOfTheHub) {
  const ModelConfig config = tiny(architecture_named("bert"));
  write_config(config);
  auto tensors = renamed(config, [](std::string name) {
    for (const auto& [today, once] :
         {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}})
      if (name.ends_with(today)) name.replace(name.find(today), std::string(today).size(), once);
    return name;
  });
  tensors.push_back({"bert.pooler.dense.weight", {4, 4}});
  tensors.push_back({"cls.seq_relationship.bias", {2}});
  tensors.push_back({"bert.embeddings.position_ids", {1, 8}});
  tensors.push_back({"cls.predictions.decoder.weight", {11, 4}});
  tensors.push_back({"cls.predictions.decoder.bias", {11}});
  write_weights(tensors);
  EXPECT_THAT(unused_of(config), ElementsAre("bert.embeddings.position_ids", "bert.pooler.dense.weight",
                                             "cls.predictions.decoder.bias", "cls.predictions.decoder.weight",
                                             "cls.seq_relationship.bias"));
}

TEST_F(PretrainedFolderTest, BertWithItsBiasUnderTheDecoder) {
  const ModelConfig config = tiny(architecture_named("bert"));
  write_config(config);
  write_weights(renamed(config, [](const std::string& name) {
    return name == "cls.predictions.bias" ? "cls.predictions.decoder.bias" : name;
  }));
  EXPECT_THAT(unused_of(config), IsEmpty());
}

TEST_F(PretrainedFolderTest, ATiedOutputLayerIsTheEmbeddings) {
  write_config(tiny(architecture_named("llama")));  // tied
  write_weights({{"model.embed_tokens.weight", {11, 4}, 5}});
  const PretrainedFolder folder(folder_.path());
  const std::array<WantedTensor, 1> output{{{"lm_head.weight", {11, 4}}}};
  EXPECT_EQ(folder.match(output).tensors[0]->name(), "model.embed_tokens.weight");
  ModelConfig untied = tiny(architecture_named("llama"));
  untied.tied_embeddings = false;
  write_config(untied);
  EXPECT_THAT(match_error({{"lm_head.weight", {11, 4}}}).message(),
              HasSubstr("tensor 'lm_head.weight' is missing"));
}

TEST_F(PretrainedFolderTest, Shards) {
  write_config(tiny(architecture_named("gpt2")));
  write_weights({{"wte.weight", {11, 4}, 1}, {"left", {1}}}, "model-00001-of-00002.safetensors");
  write_weights({{"wpe.weight", {8, 4}, 2}}, "model-00002-of-00002.safetensors");
  write_text(
      folder_ / "model.safetensors.index.json",
      R"({"metadata": {"total_size": 308}, "weight_map": {"wte.weight": "model-00001-of-00002.safetensors",
          "wpe.weight": "model-00002-of-00002.safetensors", "left": "model-00001-of-00002.safetensors"}})");
  const PretrainedFolder folder(folder_.path());
  const std::vector<WantedTensor> wanted{{"transformer.wpe.weight", {8, 4}},
                                         {"transformer.wte.weight", {11, 4}}};
  const PretrainedMatch match = folder.match(wanted);
  std::array<float, 32> positions{};
  match.tensors[0]->read(DType::kF32, std::as_writable_bytes(std::span(positions)));
  EXPECT_EQ(positions[0], 2);
  EXPECT_THAT(match.unused, ElementsAre("left"));
}

TEST_F(PretrainedFolderTest, AnIndexThatLies) {
  write_config(tiny(architecture_named("gpt2")));
  write_weights({{"wte.weight", {11, 4}}}, "one.safetensors");
  const auto error_of_index = [&](const std::string& map) {
    write_text(folder_ / "model.safetensors.index.json", R"({"weight_map": )" + map + "}");
    const auto error = error_of([&] { PretrainedFolder{folder_.path()}; });
    EXPECT_TRUE(error);
    return std::string(error ? error->what() : "");
  };
  EXPECT_THAT(error_of_index(R"({"wpe.weight": "one.safetensors"})"),
              HasSubstr("tensor 'wpe.weight' is not in 'one.safetensors'"));
  EXPECT_THAT(error_of_index(R"({"wte.weight": "../one.safetensors"})"), HasSubstr("in the same folder"));
  EXPECT_THAT(error_of_index(R"({"wte.weight": "two.safetensors"})"),
              HasSubstr("two.safetensors: no such file or folder"));
  EXPECT_THAT(error_of_index(R"({"wte.weight": 1})"), HasSubstr("must be a string"));
}

TEST_F(PretrainedFolderTest, MissingTensorsAreNamedWithTheNearest) {
  write_config(tiny(architecture_named("gpt2")));
  write_weights({{"h.0.ln_1.wieght", {4}}, {"wte.weight", {11, 4}}});
  const Error error = match_error({{"transformer.h.0.ln_1.weight", {4}}});
  EXPECT_EQ(error.what(),
            (folder_ / "model.safetensors").string() + ": tensor 'transformer.h.0.ln_1.weight' is missing");
  EXPECT_EQ(error.hint(), "the nearest there is: 'h.0.ln_1.wieght'");
}

TEST_F(PretrainedFolderTest, OtherShapesAreNamed) {
  write_config(tiny(architecture_named("gpt2")));
  write_weights({{"wte.weight", {11, 4}}, {"wpe.weight", {8, 4}}});
  EXPECT_THAT(match_error({{"transformer.wpe.weight", {16, 4}}}).message(),
              HasSubstr("tensor 'wpe.weight': the shape is [8, 4] in the file and [16, 4] in the model"));
  EXPECT_THAT(
      match_error({{"transformer.wte.weight", {12, 4}}}).message(),
      HasSubstr("tensor 'wte.weight': the vocabulary has 11 entries in the file and 12 in the model"));
  EXPECT_THAT(match_error({{"transformer.wte.weight", {12, 5}}}).message(),
              HasSubstr("the shape is [11, 4] in the file and [12, 5] in the model"));
}

TEST_F(PretrainedFolderTest, FoldersWithoutWeights) {
  const auto no_config = error_of([&] { PretrainedFolder{folder_.path()}; });
  ASSERT_TRUE(no_config);
  EXPECT_THAT(no_config->what(), HasSubstr("config.json: no such file or folder"));
  write_config(tiny(architecture_named("gpt2")));
  EXPECT_THAT(match_error({}).message(),
              HasSubstr("holds none of model.safetensors, model.safetensors.index.json, pytorch_model.bin, "
                        "pytorch_model.bin.index.json"));
  EXPECT_FALSE(has_weights(folder_.path()));
  write_text(folder_ / "pytorch_model.bin", "PK\x03\x04");
  EXPECT_TRUE(has_weights(folder_.path()));
  const Error error = match_error({});
  EXPECT_THAT(error.message(), HasSubstr("the archive has no directory at its end"));
  EXPECT_THAT(error.place().file, HasSubstr("pytorch_model.bin"));
}

TEST_F(PretrainedFolderTest, WeightsOfTorchSave) {
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama")}) {
    const ModelConfig config = tiny(architecture);
    write_config(config);
    write_weights(renamed(config, [](const std::string& name) { return name; }), "pytorch_model.bin",
                  WeightFormat::kPytorch);
    EXPECT_THAT(unused_of(config), IsEmpty());
    EXPECT_EQ(PretrainedFolder(folder_.path()).weight_format(), WeightFormat::kPytorch);
  }
}

TEST_F(PretrainedFolderTest, ShardsOfTorchSave) {
  const ModelConfig config = tiny(architecture_named("gpt2"));
  write_config(config);
  std::vector<InFile> tensors = renamed(config, [](const std::string& name) { return name; });
  const std::vector<InFile> second(tensors.begin() + 3, tensors.end());
  tensors.resize(3);
  std::string map;
  for (const InFile& tensor : tensors) map += "\"" + tensor.name + "\": \"a.bin\", ";
  for (const InFile& tensor : second) map += "\"" + tensor.name + "\": \"b.bin\", ";
  map.resize(map.size() - 2);
  write_text(folder_ / "pytorch_model.bin.index.json", "{\"metadata\": {}, \"weight_map\": {" + map + "}}");
  write_weights(tensors, "a.bin", WeightFormat::kPytorch);
  write_weights(second, "b.bin", WeightFormat::kPytorch);
  EXPECT_THAT(unused_of(config), IsEmpty());
}

// With both, safetensors are read.
TEST_F(PretrainedFolderTest, SafetensorsComeFirst) {
  const ModelConfig config = tiny(architecture_named("gpt2"));
  write_config(config);
  write_text(folder_ / "pytorch_model.bin", "damaged");
  write_weights(renamed(config, [](const std::string& name) { return name; }));
  EXPECT_THAT(unused_of(config), IsEmpty());
}

}  // namespace
}  // namespace nadi::inline files
