#include "nadi/model/model_config.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline describe {

std::int64_t longest_sequence(const ModelConfig& config) {
  return config.attention_window > 0 ? std::min(config.positions, config.attention_window) : config.positions;
}

std::string room_of(const ModelConfig& config) {
  const std::int64_t longest = longest_sequence(config);
  return longest < config.positions ? format("an attention window of {} tokens", longest)
                                    : format("{} positions", longest);
}

void check_config(const ModelConfig& config, const std::string& place) {
  const auto require = [&](bool condition, std::string message) {
    if (!condition) throw input_error({.file = place}, std::move(message));
  };
  const auto positive = [&](std::int64_t value, const char* what) {
    // Beyond this, products of two extents no longer fit the counters, and no model is near it.
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    require(value >= 1 && value <= kMost, format("{} must be between 1 and {}, not {}", what, kMost, value));
  };
  positive(config.vocabulary, "the vocabulary size");
  positive(config.positions, "the number of positions");
  positive(config.layers, "the number of layers");
  positive(config.width, "the hidden size");
  positive(config.heads, "the number of attention heads");
  positive(config.kv_heads, "the number of key-value heads");
  positive(config.head_width, "the width of a head");
  positive(config.ffn_width, "the feed-forward width");
  constexpr std::int64_t kMostLayers = 100'000;
  require(config.layers <= kMostLayers, format("{} layers are more than {}", config.layers, kMostLayers));
  require(
      config.heads % config.kv_heads == 0,
      format("{} attention heads are not a multiple of {} key-value heads", config.heads, config.kv_heads));
  if (config.architecture->token_types()) positive(config.token_types, "the number of token types");
  if (config.architecture->rotary())
    require(config.head_width % 2 == 0,
            format("rotary embedding needs an even head width, not {}", config.head_width));
  require(config.attention_window >= 0,
          format("the attention window must be at least 1 token, not {}", config.attention_window));
  const auto rate = [&](double value, const char* what) {
    require(value >= 0 && value < 1, format("{} must be at least 0 and below 1, not {}", what, value));
  };
  rate(config.embedding_dropout, "the embedding dropout");
  rate(config.attention_dropout, "the attention dropout");
  rate(config.residual_dropout, "the residual dropout");
}

}  // namespace nadi::inline describe
