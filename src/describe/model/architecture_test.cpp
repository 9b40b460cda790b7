#include "nadi/model/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/model/config_file.h"
#include "nadi/model/config_writer.h"
#include "nadi/model/model.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline describe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A configuration with its architecture, whose blocks have both parts side by side.
Json described() {
  Json architecture = Json::parse(R"({
    "model_type": "side-by-side", "norm": "layer",
    "embedding": {"scope": "m", "words": "words"},
    "block": {"scope": "m.{}", "parts": [
      {"part": "attention", "scope": "a", "norm_before": "n1", "query": "q", "key": "k", "value": "v",
       "positions": "rotary", "output": "o"},
      {"part": "feed_forward", "beside": true, "scope": "f", "norm_before": "n2", "up": "u", "output": "d"}]},
    "final": {"scope": "m", "norm": "last"},
    "output": {"scope": "head", "weight": "head.weight"},
    "configuration": [
      {"key": "vocab", "sets": ["vocabulary"]}, {"key": "length", "sets": ["positions"]},
      {"key": "width", "sets": ["width"]}, {"key": "depth", "sets": ["layers"]}, {"key": "heads", "sets": ["heads"]},
      {"key": "inner", "sets": ["ffn_width"], "default": {"of": "width", "times": 4}}]})");
  return {{"vocab", 10}, {"length", 8}, {"width", 4},
          {"depth", 2},  {"heads", 2},  {"nadi_architecture", architecture}};
}

Graph forward_of(const ModelConfig& config) {
  GraphBuilder builder;
  const ForwardOptions options{.batch_size = 1, .seq_length = 4};
  Layers layers(builder, config, options);
  build_forward(config, layers);
  return builder.take();
}

std::string refusal(const Json& config) {
  try {
    parse_model_config(config.dump(), "made-up.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().file, "made-up.json");
    return error.message();
  }
  return "no error";
}

TEST(Architectures, ThatAreBuiltIn) {
  std::vector<std::string> names;
  for (const Architecture& architecture : architectures()) {
    EXPECT_TRUE(architecture->built_in());
    EXPECT_TRUE(architecture->megatron.has_value());
    names.push_back(architecture->model_type);
  }
  EXPECT_THAT(names, ElementsAre("gpt2", "bert", "llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen2_moe",
                                 "qwen3_moe"));
  EXPECT_EQ(Architecture(), architectures().front());
  EXPECT_EQ(architecture_named("qwen3")->in_block(7, "self_attn.q_norm"), "model.layers.7.self_attn.q_norm");
}

// One key decides about all biases of Llama's attention, so that it has all of them or none.
TEST(Architectures, AreFoundByTraitsAndBiases) {
  const auto traits = architecture_named("llama")->traits();
  EXPECT_EQ(*find_architecture(traits, {false, false, false}), architecture_named("llama"));
  EXPECT_EQ(*find_architecture(traits, {true, true, true}), architecture_named("llama"));
  EXPECT_EQ(*find_architecture(traits, {true, false, false}), architecture_named("qwen2"));
  EXPECT_EQ(
      *find_architecture({.rotary = true, .norm = NormKind::kRms, .gated = true, .head_norms = true}, {}),
      architecture_named("qwen3"));
  EXPECT_EQ(find_architecture({.rotary = true, .norm = NormKind::kLayer, .gated = true}, {}), nullptr);
}

TEST(DescribedArchitecture, BuildsItsBlocks) {
  const ModelConfig config = parse_model_config(described().dump(), "made-up.json");
  EXPECT_FALSE(config.architecture->built_in());
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.ffn_width, 16);
  const Graph graph = forward_of(config);
  // Words 10 x 4, to which the head is tied. Each block: queries, keys, values, output 4 x (16 + 4); two norms of 8; up
  // 64 + 16 and down 64 + 4. A last norm of 8.
  EXPECT_EQ(graph.parameter_count(), 40 + 2 * (80 + 16 + 80 + 68) + 8);
  // Both parts read the block's input.
  const auto input_of = [&](const char* weight) {
    for (const Op& op : graph.ops())
      if (op.inputs.size() > 1 && op.inputs[1] == *graph.find_tensor(weight)) return op.inputs[0];
    return kNoTensor;
  };
  EXPECT_NE(input_of("m.1.n1.weight"), kNoTensor);
  EXPECT_EQ(input_of("m.1.n1.weight"), input_of("m.1.n2.weight"));
}

TEST(DescribedArchitecture, ComesBackFromAWrittenConfiguration) {
  const ModelConfig config = parse_model_config(described().dump(), "made-up.json");
  const ModelConfig back = parse_model_config(config_json(config), "back.json");
  EXPECT_EQ(back.architecture, config.architecture);
  EXPECT_EQ(back.width, 4);
  EXPECT_THAT(back.ignored_keys, testing::IsEmpty());
  EXPECT_NE(back.architecture, architecture_named("llama"));
}

TEST(DescribedArchitecture, MayStandInAFileBesideTheConfiguration) {
  const TemporaryFolder folder;
  Json config = described();
  write_text(folder / "blocks.json", config["nadi_architecture"].dump());
  config["nadi_architecture"] = "blocks.json";
  write_text(folder / "config.json", config.dump());
  EXPECT_EQ(to_string(load_model_config(folder.path().string()).architecture), "side-by-side");
  EXPECT_THAT(refusal(config), HasSubstr("cannot be read from here"));
}

TEST(DescribedArchitecture, WhatCannotBeIsRefused) {
  const auto with = [](const char* pointer, const Json& value) {
    Json config = described();
    config[Json::json_pointer(std::string("/nadi_architecture") + pointer)] = value;
    return refusal(config);
  };
  EXPECT_THAT(with("/nrom", "rms"), HasSubstr("unknown key 'nrom'"));
  EXPECT_THAT(with("/norm", "rsm"), HasSubstr("unknown norm 'rsm'"));
  EXPECT_THAT(with("/model_type", "llama"), HasSubstr("'llama' is built in"));
  EXPECT_THAT(with("/block/scope", "m.blocks"), HasSubstr("has no place"));
  EXPECT_THAT(with("/block/scope", "m.{}.{}"), HasSubstr("or more than one"));
  EXPECT_THAT(with("/block/parts", Json::array()), HasSubstr("a block of 0 parts"));
  EXPECT_THAT(with("/block/parts/0/beside", true), HasSubstr("none before it"));
  EXPECT_THAT(with("/block/parts/0/part", "experts"), HasSubstr("unknown part 'experts'"));
  EXPECT_THAT(with("/block/parts/0/packed", "qkv"), HasSubstr("packed or have layers of their own"));
  EXPECT_THAT(with("/block/parts/0/query_norm", "qn"), HasSubstr("not of one of them"));
  EXPECT_THAT(with("/block/parts/0/positions", "alibi"), HasSubstr("unknown positions 'alibi'"));
  EXPECT_THAT(with("/block/parts/0/key", "q"), HasSubstr("have the name 'a.q'"));
  EXPECT_THAT(with("/block/parts/1/scope", "../x"), HasSubstr("is no name"));
  EXPECT_THAT(with("/output/weight", "m.words"), HasSubstr("have the name 'm.words'"));
  EXPECT_THAT(with("/output/weight", "m.0.x"), HasSubstr("something in a block"));
  EXPECT_THAT(with("/fixed", Json{{"width", true}}), HasSubstr("'width' is no field that is true or false"));
  EXPECT_THAT(with("/configuration/0/sets", Json::array({"vocab"})), HasSubstr("unknown field 'vocab'"));
  EXPECT_THAT(with("/configuration/0/only", true), HasSubstr("has one of sets, only"));
  EXPECT_THAT(with("/configuration/0/key", "width"), HasSubstr("described twice"));
  EXPECT_THAT(with("/configuration/0/default", "many"), HasSubstr("not of the type"));
  EXPECT_THAT(with("/configuration/5/default/of", "layer"), HasSubstr("no key before this one sets 'layer'"));
  Json other = described();
  other["model_type"] = "another";
  EXPECT_THAT(refusal(other), HasSubstr("the type is 'another' here"));
}

}  // namespace
}  // namespace nadi::inline describe
