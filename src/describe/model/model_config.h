// The numbers that make a model: what a Hugging Face config.json says, in one type for all architectures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/graph/ops/matmul.h"
#include "nadi/graph/ops/rotary.h"
#include "nadi/model/architecture.h"

namespace nadi::inline describe {

struct ModelConfig {
  std::string name;  // of a built-in model, or where the configuration was read
  Architecture architecture = {};

  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  // the longest sequence of the model; see longest_sequence()
  std::int64_t layers = 0;
  std::int64_t width = 0;  // of the residual stream
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // groups of queries that share keys and values; = heads without grouping
  std::int64_t head_width = 0;
  std::int64_t ffn_width = 0;    // of the feed-forward layer
  std::int64_t token_types = 0;  // where the architecture embeds them

  Activation activation = Activation::kGeluTanh;
  double norm_epsilon = 1e-5;
  double initializer_range = 0.02;  // standard deviation of fresh weights
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double residual_dropout = 0;
  bool tied_embeddings = true;        // the output layer uses the word embeddings
  bool attention_bias = true;         // of queries, keys and values
  bool attention_output_bias = true;  // of the product behind attention
  bool ffn_bias = true;
  // Experts, where the architecture has them; 0 means that all layers are dense.
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_width = 0;         // of one expert's feed-forward layer
  std::int64_t shared_expert_width = 0;  // of the one that every token has; 0 means there is none
  bool normalized_experts = false;       // the weights of a token's experts are divided by their sum
  double expert_scale = 1;               // and multiplied by this
  std::int64_t expert_groups = 1;        // of which a token's experts are in some
  std::int64_t chosen_expert_groups = 1;
  // Layers with experts: from `first_sparse_layer` on those whose number, counted from 1, is a multiple of
  // `sparse_step`, but for `dense_layers`.
  std::int64_t first_sparse_layer = 0;
  std::int64_t sparse_step = 1;
  std::vector<std::int64_t> dense_layers = {};
  bool balance_loss =
      false;  // whether the loss that keeps experts evenly busy is added, times its coefficient
  double balance_coefficient = 0;
  double router_noise = 0;  // Nadi builds routers without

  RotaryFrequencies rotary = {};  // where positions are rotary
  // Keys that a query sees, its own and those before it; 0 means all. Layers before `first_window_layer` have no
  // window. Nadi builds attention without a window, which is the same up to `attention_window` tokens, and
  // refuses longer sequences.
  std::int64_t attention_window = 0;
  std::int64_t first_window_layer = 0;

  // Keys of the configuration file that Nadi does not know and did not use: shown to the user.
  std::vector<std::string> ignored_keys = {};
};

// Throws Error (input) naming the numbers when they do not fit together: heads that do not divide the width,
// zero layers. `place` is the file they came from.
void check_config(const ModelConfig& config, const std::string& place);

// Whether a layer has experts.
bool is_sparse(const ModelConfig& config, std::int64_t layer);
std::int64_t sparse_layers(const ModelConfig& config);  // how many have
// Whether some layers have experts and others not.
bool has_mixed_layers(const ModelConfig& config);

// Tokens of the longest sequence that Nadi builds: positions, or less where a window is smaller.
std::int64_t longest_sequence(const ModelConfig& config);
// What limits it, for messages: "1024 positions", "an attention window of 4096 tokens".
std::string room_of(const ModelConfig& config);

}  // namespace nadi::inline describe
