// Models that are small enough for tests, one for each kind of test.
#pragma once

#include <cstdint>
#include <string>

#include "nadi/model/model_config.h"

namespace nadi::inline describe {

// For arithmetic in double precision by the thousand, and for every plan: width 8, four heads of keys and
// values, a vocabulary of 13 that divides over no group, dropout wherever the architecture has it; Llama with
// two queries per key and stretched rotary frequencies; Qwen2 like Llama, with biases of queries, keys and
// values and tied embeddings; Qwen3 like Llama, with heads of 6 that are normed.
// Experts of models that have them: 6, of which a token has 2; as Qwen2-MoE, one layer of two has them, and one expert
// more for all tokens.
inline void add_tiny_experts(ModelConfig& config) {
  if (!config.architecture->experts()) return;
  config.experts = 6;
  config.experts_per_token = 2;
  config.expert_width = 12;
  config.normalized_experts = true;
  if (config.architecture->model_type != "qwen2_moe") return;
  config.normalized_experts = false;
  config.shared_expert_width = 4;
  config.sparse_step = 2;
}

inline ModelConfig tiny_model(const Architecture& architecture, std::int64_t layers) {
  ModelConfig config{.name = "tiny " + std::string(to_string(architecture)),
                     .architecture = architecture,
                     .vocabulary = 13,
                     .positions = 16,
                     .layers = layers,
                     .width = 8,
                     .heads = 4,
                     .kv_heads = 4,
                     .head_width = 2,
                     .ffn_width = 12,
                     .token_types = 2,
                     .initializer_range = 0.3,
                     .embedding_dropout = 0.1,
                     .attention_dropout = 0.2,
                     .residual_dropout = 0.1};
  if (architecture->masked()) config.activation = Activation::kGeluErf;
  if (architecture->rotary()) {
    const bool qwen2 = !architecture->can_have_biases(false, false, false);
    config.heads = 8;
    config.attention_bias = config.tied_embeddings = qwen2;
    config.attention_output_bias = config.ffn_bias = false;
    config.embedding_dropout = config.residual_dropout = 0;
    // Of two numbers that are near zero, a norm makes anything; and heads have more columns than the stream.
    if (architecture->head_norms()) config.head_width = 6;
    config.rotary = {.theta = 100,
                     .factor = 8,
                     .low_frequency_factor = 1,
                     .high_frequency_factor = 4,
                     .original_positions = 32};
  }
  add_tiny_experts(config);
  return config;
}

// For sizes that are counted by hand: a GPT-2 whose dimensions are powers of two and divide over every group.
inline ModelConfig even_model() {
  return {.name = "tiny",
          .architecture = architecture_named("gpt2"),
          .vocabulary = 16,
          .positions = 8,
          .layers = 4,
          .width = 8,
          .heads = 4,
          .kv_heads = 4,
          .head_width = 2,
          .ffn_width = 16};
}

// For generation: random weights are spread so widely that each generated token differs from the others.
inline ModelConfig generating_model(const Architecture& architecture, std::int64_t vocabulary = 61) {
  ModelConfig config{.name = "tiny",
                     .architecture = architecture,
                     .vocabulary = vocabulary,
                     .positions = 24,
                     .layers = 2,
                     .width = 16,
                     .heads = 4,
                     .kv_heads = 4,
                     .head_width = 4,
                     .ffn_width = 24,
                     .token_types = 2,
                     .initializer_range = 0.4};
  if (architecture->rotary()) {
    config.kv_heads = 2;
    config.attention_bias = !architecture->can_have_biases(false, false, false);
    config.attention_output_bias = config.ffn_bias = config.tied_embeddings = false;
    config.rotary = {.theta = 100};
  }
  add_tiny_experts(config);
  return config;
}

// For training on bytes: 256 of them, and the special tokens of ByteTokenizer
// (data/byte_tokenizer_for_tests.h).
inline ModelConfig byte_model(const Architecture& architecture) {
  const bool bert = architecture->masked();
  return {.name = "small",
          .architecture = architecture,
          .vocabulary = bert ? 261 : 257,
          .positions = 64,
          .layers = 2,
          .width = 16,
          .heads = 2,
          .kv_heads = 2,
          .head_width = 8,
          .ffn_width = 32,
          .token_types = bert ? 2 : 0,
          .activation = bert ? Activation::kGeluErf : Activation::kGeluTanh,
          .initializer_range = 0.1};
}

}  // namespace nadi::inline describe
