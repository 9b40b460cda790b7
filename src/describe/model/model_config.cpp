#include "nadi/model/model_config.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline describe {

bool is_sparse(const ModelConfig& config, std::int64_t layer) {
  return config.experts > 0 && layer >= config.first_sparse_layer && (layer + 1) % config.sparse_step == 0 &&
         std::ranges::find(config.dense_layers, layer) == config.dense_layers.end();
}

std::int64_t sparse_layers(const ModelConfig& config) {
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) count += is_sparse(config, layer) ? 1 : 0;
  return count;
}

bool has_mixed_layers(const ModelConfig& config) {
  const std::int64_t sparse = sparse_layers(config);
  return sparse > 0 && sparse < config.layers;
}

namespace {

void check_experts(const ModelConfig& config, const std::string& place) {
  const auto require = [&](bool condition, std::string message, std::string hint = "") {
    if (!condition) throw input_error({.file = place}, std::move(message), std::move(hint));
  };
  constexpr std::int64_t kMostExperts = 1 << 16;
  constexpr std::int64_t kMostWidth = std::int64_t{1} << 30;
  require(config.experts >= 1 && config.experts <= kMostExperts,
          format("the number of experts must be between 1 and {}, not {}", kMostExperts, config.experts));
  require(config.experts_per_token >= 1 && config.experts_per_token <= config.experts,
          format("a token has between 1 and {} experts, not {}", config.experts, config.experts_per_token));
  require(config.expert_width >= 1 && config.expert_width <= kMostWidth,
          format("the width of an expert must be between 1 and {}, not {}", kMostWidth, config.expert_width));
  require(config.shared_expert_width >= 0 && config.shared_expert_width <= kMostWidth,
          format("the width of the shared expert must be between 0 and {}, not {}", kMostWidth,
                 config.shared_expert_width));
  require(config.sparse_step >= 1,
          format("every n-th layer has experts, and n is at least 1, not {}", config.sparse_step));
  require(config.first_sparse_layer >= 0,
          format("the first layer with experts is {}: layers count from 0", config.first_sparse_layer));
  for (const std::int64_t layer : config.dense_layers)
    require(layer >= 0 && layer < config.layers,
            format("layer {} is said to be dense; there are {} layers", layer, config.layers));
  require(config.expert_groups >= 1 && config.experts % config.expert_groups == 0,
          format("{} experts are not {} equal groups", config.experts, config.expert_groups));
  require(
      config.chosen_expert_groups >= 1 && config.chosen_expert_groups <= config.expert_groups &&
          config.experts_per_token <= config.chosen_expert_groups * (config.experts / config.expert_groups),
      format("{} of {} groups do not have {} experts", config.chosen_expert_groups, config.expert_groups,
             config.experts_per_token));
  require(std::isfinite(config.expert_scale) && config.expert_scale > 0,
          format("the weights of experts are multiplied by a positive number, not {}", config.expert_scale));
  require(
      std::isfinite(config.balance_coefficient) && config.balance_coefficient >= 0,
      format("the coefficient of the balance loss must be 0 or more, not {}", config.balance_coefficient));
  require(config.router_noise == 0,
          format("Nadi builds routers without noise, not with {}", config.router_noise));
}

}  // namespace

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
  if (config.architecture->experts()) check_experts(config, place);
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
