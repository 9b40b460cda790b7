// The numbers that make a model: what a Hugging Face config.json says, in one type for all architectures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/graph/ops/matmul.h"
#include "nadi/graph/ops/rotary.h"

namespace nadi {

enum class Architecture : std::uint8_t {
  kGpt2,   // GPT-2 and GPT-3: learned positions, norm before, GELU, biases everywhere
  kBert,   // encoder, norm after, masked-language-model head
  kLlama,  // rotary positions, RMS norm, SwiGLU, grouped queries
};
std::string_view to_string(Architecture architecture);  // Hugging Face's model_type: "gpt2", "bert", "llama"

struct ModelConfig {
  std::string name;  // of a built-in model, or where the configuration was read
  Architecture architecture = Architecture::kGpt2;

  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  // the longest sequence
  std::int64_t layers = 0;
  std::int64_t width = 0;  // of the residual stream
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // groups of queries that share keys and values; = heads without grouping
  std::int64_t head_width = 0;
  std::int64_t ffn_width = 0;    // of the feed-forward layer
  std::int64_t token_types = 0;  // BERT

  Activation activation = Activation::kGeluTanh;
  double norm_epsilon = 1e-5;
  double initializer_range = 0.02;  // standard deviation of fresh weights
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double residual_dropout = 0;
  bool tied_embeddings = true;  // the output layer uses the word embeddings
  bool attention_bias = true;
  bool ffn_bias = true;
  RotaryFrequencies rotary = {};  // Llama

  // Keys of the configuration file that Nadi does not know and did not use: shown to the user.
  std::vector<std::string> ignored_keys = {};
};

// Throws Error (input) naming the numbers when they do not fit together: heads that do not divide the width,
// zero layers. `place` is the file they came from.
void check_config(const ModelConfig& config, const std::string& place);

}  // namespace nadi
