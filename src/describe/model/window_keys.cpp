#include "nadi/model/window_keys.h"

#include <array>

#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/model/config_keys.h"

namespace nadi::inline describe {
namespace {

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

// What transformers assumes where the file does not have the key; `null` means no window.
void read_window_of_all(ConfigKeys& keys, const ConfigEntry& entry, ModelConfig& config) {
  const std::int64_t assumed = std::get<std::int64_t>(entry.otherwise);
  config.attention_window = keys.value().has(entry.key) ? keys.integer_or(entry.key, 0) : assumed;
  if (const auto window = keys.object(entry.key); window && config.attention_window < 1)
    throw error_at(*window, format("a window of {} tokens", config.attention_window),
                   format("without a window, {} is null", entry.key));
}

void read_window_above(ConfigKeys& keys, const ConfigEntry& entry, ModelConfig& config) {
  const std::int64_t window = keys.integer_or(entry.key, std::get<std::int64_t>(entry.otherwise));
  const std::int64_t first = keys.integer_or("max_window_layers", entry.first_window_layer);
  if (keys.boolean_or("use_sliding_window", false) && first < config.layers) {
    if (window < 1)
      throw error_at(keys.value(), format("{} is {}: a window has 1 token or more", entry.key, window));
    if (first < 0)
      throw error_at(keys.value(), format("max_window_layers is {}: layers count from 0", first));
    config.attention_window = window;
    config.first_window_layer = first;
  }
  if (const auto types = keys.object("layer_types")) check_layer_types(*types, config);
}

}  // namespace

void read_window(ConfigKeys& keys, const ConfigEntry& entry, ModelConfig& config) {
  if (entry.window == ConfigEntry::Window::kUpperLayers)
    read_window_above(keys, entry, config);
  else
    read_window_of_all(keys, entry, config);
}

void write_window(const ModelConfig& config, const ConfigEntry& entry, Json& json) {
  const bool slides = config.attention_window > 0;
  if (entry.window == ConfigEntry::Window::kUpperLayers) {
    json["use_sliding_window"] = slides;
    json[entry.key] = slides ? config.attention_window : config.positions;
    json["max_window_layers"] = slides ? config.first_window_layer : config.layers;
    return;
  }
  json[entry.key] = nullptr;
  if (slides) json[entry.key] = config.attention_window;
}

}  // namespace nadi::inline describe
