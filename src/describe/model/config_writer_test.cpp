#include "nadi/model/config_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/model/catalogue.h"
#include "nadi/model/config_file.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline describe {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ConfigWriter : public testing::Test {
 protected:
  ModelConfig there_and_back(const ModelConfig& config, const ConfigJsonOptions& options = {}) {
    write_text(folder_ / "config.json", config_json(config, options));
    return load_model_config(folder_.path().string());
  }

  const TemporaryFolder folder_;
};

// All that makes the model, in one line each: a difference shows the key.
Json fields_of(const ModelConfig& config) {
  return {{"architecture", to_string(config.architecture)},
          {"vocabulary", config.vocabulary},
          {"positions", config.positions},
          {"layers", config.layers},
          {"width", config.width},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"head_width", config.head_width},
          {"ffn_width", config.ffn_width},
          {"token_types", config.token_types},
          {"activation", to_string(config.activation)},
          {"norm_epsilon", config.norm_epsilon},
          {"initializer_range", config.initializer_range},
          {"embedding_dropout", config.embedding_dropout},
          {"attention_dropout", config.attention_dropout},
          {"residual_dropout", config.residual_dropout},
          {"tied_embeddings", config.tied_embeddings},
          {"attention_bias", config.attention_bias},
          {"attention_output_bias", config.attention_output_bias},
          {"attention_window", config.attention_window},
          {"first_window_layer", config.first_window_layer},
          {"ffn_bias", config.ffn_bias},
          {"theta", config.rotary.theta},
          {"factor", config.rotary.factor},
          {"low_frequency_factor", config.rotary.low_frequency_factor},
          {"high_frequency_factor", config.rotary.high_frequency_factor},
          {"original_positions", config.rotary.original_positions}};
}

TEST_F(ConfigWriter, EveryBuiltInModelComesBack) {
  for (const ModelConfig& model : built_in_models()) {
    const ModelConfig back = there_and_back(model, {.begin_token = 1, .end_token = 2, .padding_token = 0});
    EXPECT_EQ(fields_of(back), fields_of(model)) << model.name;
    EXPECT_THAT(back.ignored_keys, IsEmpty()) << model.name;  // the reader knows all that is written
  }
}

TEST_F(ConfigWriter, UnusualModelsComeBack) {
  ModelConfig gpt = *find_built_in_model("gpt2");
  gpt.ffn_width = 1000;
  gpt.activation = Activation::kGeluErf;
  gpt.tied_embeddings = false;
  gpt.attention_dropout = 0.1 + 0.2;  // 0.30000000000000004
  gpt.norm_epsilon = 1e-12;
  EXPECT_EQ(fields_of(there_and_back(gpt)), fields_of(gpt));
  ModelConfig llama = *find_built_in_model("llama3.1-8b");
  llama.head_width = 64;
  llama.attention_bias = llama.attention_output_bias = llama.ffn_bias = llama.tied_embeddings = true;
  llama.attention_dropout = 0.5;
  llama.rotary = {.theta = 10000};
  EXPECT_EQ(fields_of(there_and_back(llama)), fields_of(llama));
  ModelConfig mistral = *find_built_in_model("mistral-7b-v0.1");
  mistral.head_width = 96;
  mistral.attention_window = 1000;
  mistral.rotary = find_built_in_model("llama3.1-8b")->rotary;
  EXPECT_EQ(fields_of(there_and_back(mistral)), fields_of(mistral));
  ModelConfig qwen2 = *find_built_in_model("qwen2.5-0.5b");
  qwen2.attention_window = 512;
  qwen2.first_window_layer = 20;
  qwen2.head_width = 32;
  EXPECT_EQ(fields_of(there_and_back(qwen2)), fields_of(qwen2));
}

// The keys by which transformers chooses and builds the model.
TEST_F(ConfigWriter, SaysWhatTransformersReads) {
  const Json gpt =
      Json::parse(config_json(*find_built_in_model("gpt2"), {.dtype = DType::kBF16, .end_token = 50256}));
  EXPECT_EQ(gpt["architectures"], Json::array({"GPT2LMHeadModel"}));
  EXPECT_EQ(gpt["model_type"], "gpt2");
  EXPECT_EQ(gpt["torch_dtype"], "bfloat16");
  EXPECT_EQ(gpt["n_inner"], 3072);
  EXPECT_EQ(gpt["activation_function"], "gelu_new");
  EXPECT_EQ(gpt["eos_token_id"], 50256);
  EXPECT_FALSE(gpt.contains("bos_token_id"));
  const Json bert = Json::parse(config_json(*find_built_in_model("bert-base-uncased")));
  EXPECT_EQ(bert["architectures"], Json::array({"BertForMaskedLM"}));
  EXPECT_EQ(bert["torch_dtype"], "float32");
  EXPECT_EQ(bert["hidden_act"], "gelu");
  EXPECT_EQ(bert["layer_norm_eps"], 1e-12);
  const Json llama = Json::parse(config_json(*find_built_in_model("llama3.1-8b")));
  EXPECT_EQ(llama["architectures"], Json::array({"LlamaForCausalLM"}));
  EXPECT_EQ(llama["num_key_value_heads"], 8);
  EXPECT_EQ(llama["rope_theta"], 500000.0);
  EXPECT_EQ(llama["rope_scaling"]["rope_type"], "llama3");
  const Json mistral = Json::parse(config_json(*find_built_in_model("mistral-7b-v0.1")));
  EXPECT_EQ(mistral["architectures"], Json::array({"MistralForCausalLM"}));
  EXPECT_EQ(mistral["sliding_window"], 4096);
  EXPECT_TRUE(Json::parse(config_json(*find_built_in_model("mistral-7b-v0.3")))["sliding_window"].is_null());
  const Json qwen2 = Json::parse(config_json(*find_built_in_model("qwen2.5-7b")));
  EXPECT_EQ(qwen2["architectures"], Json::array({"Qwen2ForCausalLM"}));
  EXPECT_EQ(qwen2["model_type"], "qwen2");
  EXPECT_EQ(qwen2["use_sliding_window"], false);
  EXPECT_FALSE(qwen2.contains("attention_bias"));  // transformers' Qwen2 has them without asking
}

TEST_F(ConfigWriter, RefusesWhatTheFileCannotSay) {
  const auto message_of = [](const ModelConfig& config) -> std::string {
    try {
      config_json(config);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "no error";
  };
  ModelConfig bert = *find_built_in_model("bert-base-uncased");
  bert.embedding_dropout = 0;
  EXPECT_EQ(message_of(bert),
            "bert-base-uncased: a config.json of type 'bert' cannot say that embeddings and layers have "
            "different dropout");
  ModelConfig gpt = *find_built_in_model("gpt2");
  gpt.kv_heads = 4;
  EXPECT_THAT(message_of(gpt), HasSubstr("that queries are grouped"));
  gpt = *find_built_in_model("gpt2");
  gpt.activation = Activation::kNone;
  EXPECT_THAT(message_of(gpt), HasSubstr("no activation"));
  ModelConfig llama = *find_built_in_model("llama3.1-8b");
  llama.residual_dropout = 0.1;
  EXPECT_THAT(message_of(llama), HasSubstr("dropout outside of attention"));
  llama = *find_built_in_model("llama3.1-8b");
  llama.attention_bias = true;
  EXPECT_THAT(message_of(llama), HasSubstr("only a part of attention has biases"));
  llama.attention_bias = false;
  llama.attention_window = 4;
  EXPECT_THAT(message_of(llama), HasSubstr("that attention has a window"));
  ModelConfig qwen2 = *find_built_in_model("qwen2.5-0.5b");
  qwen2.attention_bias = false;
  EXPECT_THAT(message_of(qwen2), HasSubstr("that a layer has no bias"));
  ModelConfig mistral = *find_built_in_model("mistral-7b-v0.3");
  mistral.ffn_bias = true;
  EXPECT_THAT(message_of(mistral), HasSubstr("that a layer has biases"));
}

}  // namespace
}  // namespace nadi::inline describe
