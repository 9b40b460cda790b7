#include "nadi/model/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nadi/base/error.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& text, const std::string& name = "config.json") {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

  // The error of loading a configuration with this text.
  Error error_of(const std::string& text, const std::string& model_type = "") {
    try {
      load_model_config(write(text), model_type);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return usage_error("no error");
  }

  fs::path folder_;
};

// As Hugging Face's gpt2 has it, shortened.
constexpr const char* kGpt2 = R"({
  "activation_function": "gelu_new",
  "architectures": ["GPT2LMHeadModel"],
  "attn_pdrop": 0.1,
  "bos_token_id": 50256,
  "embd_pdrop": 0.1,
  "initializer_range": 0.02,
  "layer_norm_epsilon": 1e-05,
  "model_type": "gpt2",
  "n_ctx": 1024,
  "n_embd": 768,
  "n_head": 12,
  "n_layer": 12,
  "n_positions": 1024,
  "resid_pdrop": 0.1,
  "summary_type": "cls_index",
  "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
  "vocab_size": 50257
})";

TEST_F(ConfigFile, ReadsHuggingFacesGpt2) {
  const ModelConfig config = load_model_config(write(kGpt2));
  EXPECT_EQ(config.architecture, Architecture::kGpt2);
  EXPECT_EQ(config.layers, 12);
  EXPECT_EQ(config.head_width, 64);
  EXPECT_EQ(config.ffn_width, 3072);
  EXPECT_EQ(config.activation, Activation::kGeluTanh);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_THAT(config.ignored_keys, IsEmpty());
}

TEST_F(ConfigFile, ReadsACheckpointFolder) {
  write(kGpt2);
  EXPECT_EQ(load_model_config(folder_.string()).layers, 12);
  fs::remove(folder_ / "config.json");
  try {
    load_model_config(folder_.string());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.message(), HasSubstr("no config.json"));
  }
}

TEST_F(ConfigFile, ReadsBert) {
  const ModelConfig config = load_model_config(write(R"({
    "model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "gelu", "max_position_embeddings": 512,
    "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0, "position_embedding_type": "absolute"})"));
  EXPECT_EQ(config.architecture, Architecture::kBert);
  EXPECT_EQ(config.activation, Activation::kGeluErf);
  EXPECT_EQ(config.token_types, 2);
  EXPECT_EQ(config.residual_dropout, 0.1);
}

TEST_F(ConfigFile, ReadsLlama31WithItsRope) {
  const ModelConfig config = load_model_config(write(R"({
    "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "hidden_act": "silu",
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": false,
    "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                     "original_max_position_embeddings": 8192, "rope_type": "llama3"}})"));
  EXPECT_EQ(config.kv_heads, 8);
  EXPECT_EQ(config.head_width, 128);
  EXPECT_EQ(config.rotary, (RotaryFrequencies{.theta = 500000,
                                              .factor = 8,
                                              .low_frequency_factor = 1,
                                              .high_frequency_factor = 4,
                                              .original_positions = 8192}));
  EXPECT_FALSE(config.attention_bias);
}

TEST_F(ConfigFile, AMissingKeyIsNamed) {
  const Error error = error_of(R"({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
                                   "n_embd": 768, "n_layers": 12, "n_head": 12})");
  EXPECT_EQ(error.kind(), ErrorKind::kInput);
  EXPECT_THAT(error.message(), HasSubstr("n_layer"));
  EXPECT_THAT(error.hint(), HasSubstr("n_layers"));  // what the file has instead
}

TEST_F(ConfigFile, AnUnknownTypeSuggestsTheNearest) {
  const Error error = error_of(R"({"model_type": "gpt", "vocab_size": 50257})");
  EXPECT_THAT(error.message(), HasSubstr("unknown model_type 'gpt'"));
  EXPECT_THAT(error.hint(), HasSubstr("did you mean 'gpt2'?"));
  EXPECT_EQ(error.place().line, 1);
}

TEST_F(ConfigFile, AMissingTypeCanBeGiven) {
  std::string text = kGpt2;
  text.erase(text.find("  \"model_type\""), std::string("  \"model_type\": \"gpt2\",\n").size());
  const Error error = error_of(text);
  EXPECT_THAT(error.message(), HasSubstr("model_type"));
  EXPECT_THAT(error.hint(), HasSubstr("give the model type; known: gpt2, bert, llama"));
  EXPECT_EQ(load_model_config(write(text), "gpt2").layers, 12);
  EXPECT_EQ(error_of(text, "gtp2").kind(), ErrorKind::kUsage);
}

TEST_F(ConfigFile, ValuesThatMakeAnotherModelAreRefused) {
  const auto with = [](const std::string& key_and_value) {
    std::string text = kGpt2;
    text.insert(1, key_and_value + ",");
    return text;
  };
  EXPECT_THAT(error_of(with(R"("scale_attn_by_inverse_layer_idx": true)")).message(),
              HasSubstr("only with scale_attn_by_inverse_layer_idx = false"));
  EXPECT_THAT(error_of(with(R"("n_inner": -5)")).message(), HasSubstr("feed-forward width"));
  std::string relu = kGpt2;
  relu.replace(relu.find("gelu_new"), 8, "relu");
  EXPECT_THAT(error_of(relu).message(), HasSubstr("unknown activation_function 'relu'"));
  std::string heads = kGpt2;
  heads.replace(heads.find("\"n_head\": 12"), 12, "\"n_head\": 13");
  EXPECT_THAT(error_of(heads).message(), HasSubstr("768 does not divide over 13 attention heads"));
}

TEST_F(ConfigFile, KeysThatNobodyKnowsAreReported) {
  std::string text = kGpt2;
  text.insert(1, R"("n_laier": 13,)");
  EXPECT_THAT(load_model_config(write(text)).ignored_keys, ElementsAre("n_laier"));
}

TEST_F(ConfigFile, AnUnknownNameSuggestsTheNearest) {
  try {
    load_model_config("gpt3-176b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.hint(), HasSubstr("did you mean 'gpt3-175b'?"));
  }
}

TEST_F(ConfigFile, AMissingFileIsAnInputError) {
  try {
    load_model_config((folder_ / "nowhere.json").string());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.place().file, HasSubstr("nowhere.json"));
  }
}

}  // namespace
}  // namespace nadi
