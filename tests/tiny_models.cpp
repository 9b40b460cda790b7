#include "tiny_models.h"

#include "nadi/base/random.h"

namespace nadi {

ModelConfig tiny_model(Architecture architecture, std::int64_t layers) {
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
  if (architecture == Architecture::kBert) config.activation = Activation::kGeluErf;
  if (architecture == Architecture::kLlama) {
    config.heads = 8;
    config.attention_bias = config.ffn_bias = config.tied_embeddings = false;
    config.embedding_dropout = config.residual_dropout = 0;
    config.rotary = {.theta = 100,
                     .factor = 8,
                     .low_frequency_factor = 1,
                     .high_frequency_factor = 4,
                     .original_positions = 32};
  }
  return config;
}

Doubles random_integers(const std::string& name, std::int64_t count, std::int64_t below) {
  Doubles values(count);
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(random_word({.seed = 5, .site = site_of(name)}, i) % below);
  return values;
}

}  // namespace nadi
