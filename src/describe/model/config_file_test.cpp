#include "nadi/model/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline describe {
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
  EXPECT_EQ(config.architecture, architecture_named("gpt2"));
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
  EXPECT_EQ(config.architecture, architecture_named("bert"));
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

TEST_F(ConfigFile, AScalingThatCannotBeNamesTheNumber) {
  const auto refusal = [this](const char* factor, const char* low, const char* high, const char* positions) {
    return error_of(
               format(
                   R"({{"model_type": "llama", "vocab_size": 256, "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 512,
      "rope_scaling": {{"factor": {}, "low_freq_factor": {}, "high_freq_factor": {},
                       "original_max_position_embeddings": {}, "rope_type": "llama3"}}}})",
                   factor, low, high, positions))
        .message();
  };
  EXPECT_EQ(refusal("0", "1", "4", "64"), "factor is 0; it is above 0");
  EXPECT_EQ(refusal("8", "-1", "4", "64"), "low_freq_factor is -1; it is above 0");
  EXPECT_EQ(refusal("8", "1", "0.5", "64"), "high_freq_factor is 0.5; it is above low_freq_factor, 1");
  EXPECT_EQ(refusal("8", "1", "4", "0"), "original_max_position_embeddings is 0; it is 1 or more");
}

// As the hub has it for Mistral-7B-v0.1.
constexpr const char* kMistral = R"({
  "architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
  "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
  "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
  "sliding_window": 4096, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true,
  "vocab_size": 32000})";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  return text.replace(text.find(what), what.size(), with);
}

TEST_F(ConfigFile, ReadsMistralWithItsWindow) {
  const ModelConfig config = load_model_config(write(kMistral));
  EXPECT_EQ(config.architecture, architecture_named("mistral"));
  EXPECT_EQ(config.attention_window, 4096);
  EXPECT_EQ(longest_sequence(config), 4096);
  EXPECT_EQ(room_of(config), "an attention window of 4096 tokens");
  EXPECT_FALSE(config.attention_bias || config.attention_output_bias || config.ffn_bias);
  EXPECT_THAT(config.ignored_keys, IsEmpty());
  const auto window_of = [&](const std::string& with) {
    return load_model_config(write(replaced(kMistral, R"("sliding_window": 4096,)", with))).attention_window;
  };
  EXPECT_EQ(window_of(R"("sliding_window": null,)"), 0);
  EXPECT_EQ(window_of(""), 4096);  // as transformers assumes
  EXPECT_THAT(error_of(replaced(kMistral, R"("sliding_window": 4096)", R"("sliding_window": 0)")).message(),
              HasSubstr("a window of 0 tokens"));
  EXPECT_EQ(load_model_config(write(replaced(kMistral, R"("rms)", R"("head_dim": 96, "rms)"))).head_width,
            96);
}

// As the hub has it for Qwen2.5-7B.
constexpr const char* kQwen2 = R"({
  "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
  "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 3584, "initializer_range": 0.02,
  "intermediate_size": 18944, "max_position_embeddings": 131072, "max_window_layers": 28,
  "model_type": "qwen2", "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
  "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 131072, "tie_word_embeddings": false,
  "torch_dtype": "bfloat16", "use_cache": true, "use_mrope": false, "use_sliding_window": false,
  "vocab_size": 152064})";

TEST_F(ConfigFile, ReadsQwen2WithItsBiases) {
  const ModelConfig config = load_model_config(write(kQwen2));
  EXPECT_EQ(config.architecture, architecture_named("qwen2"));
  EXPECT_TRUE(config.attention_bias);
  EXPECT_FALSE(config.attention_output_bias || config.ffn_bias || config.tied_embeddings);
  EXPECT_EQ(config.rotary.theta, 1e6);
  EXPECT_EQ(longest_sequence(config), 131072);
  EXPECT_THAT(config.ignored_keys, IsEmpty());
}

TEST_F(ConfigFile, Qwen2sWindowIsInLayersFromANumberOn) {
  const std::string on =
      replaced(replaced(kQwen2, R"("use_sliding_window": false)", R"("use_sliding_window": true)"),
               R"("sliding_window": 131072)", R"("sliding_window": 2048)");
  EXPECT_EQ(load_model_config(write(on)).attention_window, 0);  // from layer 28 on: none
  const ModelConfig config = load_model_config(write(replaced(on, R"(layers": 28)", R"(layers": 24)")));
  EXPECT_EQ(config.attention_window, 2048);
  EXPECT_EQ(config.first_window_layer, 24);
  EXPECT_THAT(error_of(replaced(kQwen2, R"("use_mrope": false)", R"("use_mrope": true)")).message(),
              HasSubstr("only with use_mrope = false"));
  const std::string low = replaced(on, R"(layers": 28)", R"(layers": 24)");
  EXPECT_THAT(error_of(replaced(low, "2048", "0")).message(), HasSubstr("sliding_window is 0: a window has"));
  EXPECT_THAT(error_of(replaced(on, R"(layers": 28)", R"(layers": -1)")).message(),
              HasSubstr("max_window_layers is -1: layers count from 0"));
}

TEST_F(ConfigFile, Qwen2sLayerTypesMustSayTheSame) {
  const auto with_types = [](const std::string& types) {
    return replaced(replaced(kQwen2, R"("num_hidden_layers": 28)", R"("num_hidden_layers": 2)"),
                    R"("use_mrope": false)", R"("layer_types": )" + types);
  };
  EXPECT_EQ(load_model_config(write(with_types(R"(["full_attention", "full_attention"])"))).attention_window,
            0);
  EXPECT_THAT(error_of(with_types(R"(["full_attention", "sliding_attention"])")).message(),
              HasSubstr("layer 1 is of type 'sliding_attention', which"));
  EXPECT_THAT(error_of(with_types(R"(["full_attention"])")).message(),
              HasSubstr("1 layer types for 2 layers"));
  EXPECT_THAT(error_of(with_types(R"(["full_attention", "full_atention"])")).hint(),
              HasSubstr("did you mean 'full_attention'?"));
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
  EXPECT_THAT(error.hint(), HasSubstr("give the model type; known: gpt2, bert, llama, mistral, qwen2"));
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
}  // namespace nadi::inline describe
