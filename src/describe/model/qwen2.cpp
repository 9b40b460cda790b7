// Qwen2 and Qwen2.5 (Yang et al. 2024): Llama's graph with biases of queries, keys and values. The small ones
// have tied embeddings. An attention window may be switched on for the layers from max_window_layers on;
// published models leave it off.

#include <array>

#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/model/architectures.h"
#include "nadi/model/config_keys.h"
#include "nadi/model/llama_keys.h"

namespace nadi::inline describe {
namespace {

// What transformers assumes where the file does not have the key.
constexpr std::int64_t kQwenKeyValueHeads = 32;
constexpr std::int64_t kQwenWindow = 4096;
constexpr std::int64_t kQwenFirstWindowLayer = 28;

// Newer files list each layer's kind, which must be what the other keys say: otherwise they are a model that
// ModelConfig cannot describe.
void check_layer_types(JsonValue types, const ModelConfig& config) {
  static constexpr std::array<std::string_view, 2> kTypes{"full_attention", "sliding_attention"};
  if (types.size() != static_cast<std::size_t>(config.layers))
    throw error_at(types, format("{} layer types for {} layers", types.size(), config.layers));
  std::int64_t layer = 0;
  for (const JsonValue& type : types.elements()) {
    const std::string name = type.as_string();
    if (name != kTypes[0] && name != kTypes[1])
      throw error_at(type, format("unknown layer type '{}'", name), did_you_mean(name, kTypes));
    const bool slides = config.attention_window > 0 && layer >= config.first_window_layer;
    if ((name == kTypes[1]) != slides)
      throw error_at(
          type, format("layer {} is of type '{}', which use_sliding_window and max_window_layers contradict",
                       layer, name));
    ++layer;
  }
}

void read_qwen2_config(ConfigKeys& keys, ModelConfig& config) {
  read_llama_keys(keys, config);
  config.kv_heads = keys.value().has("num_key_value_heads")
                        ? keys.integer_or("num_key_value_heads", config.heads)
                        : kQwenKeyValueHeads;
  config.attention_bias = true;
  keys.only("use_mrope", false);
  const std::int64_t window = keys.integer_or("sliding_window", kQwenWindow);
  const std::int64_t first = keys.integer_or("max_window_layers", kQwenFirstWindowLayer);
  if (keys.boolean_or("use_sliding_window", false) && first < config.layers) {
    if (window < 1)
      throw error_at(keys.value(), format("sliding_window is {}: a window has 1 token or more", window));
    if (first < 0)
      throw error_at(keys.value(), format("max_window_layers is {}: layers count from 0", first));
    config.attention_window = window;
    config.first_window_layer = first;
  }
  if (const auto types = keys.object("layer_types")) check_layer_types(*types, config);
}

}  // namespace

ArchitectureEntry qwen2_architecture() {
  return {Architecture::kQwen2, "qwen2", &llama_model(), read_qwen2_config};
}

}  // namespace nadi::inline describe
