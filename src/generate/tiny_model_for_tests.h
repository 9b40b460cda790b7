// Models small enough for tests, whose weights spread enough that every token they choose is another.
#pragma once

#include "nadi/model/model_config.h"

namespace nadi {

inline ModelConfig tiny_model(Architecture architecture, std::int64_t vocabulary = 61) {
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
  if (architecture == Architecture::kLlama) {
    config.kv_heads = 2;
    config.attention_bias = config.ffn_bias = config.tied_embeddings = false;
    config.rotary = {.theta = 100};
  }
  return config;
}

}  // namespace nadi
