// Mistral 7B (Jiang et al. 2023): Llama's graph; its first version has a sliding attention window of 4,096
// tokens, later ones have none.

#include "nadi/base/format.h"
#include "nadi/model/architectures.h"
#include "nadi/model/config_keys.h"
#include "nadi/model/llama_keys.h"

namespace nadi::inline describe {
namespace {

// What transformers assumes where the file does not have the key; `null` means no window.
constexpr std::int64_t kMistralWindow = 4096;
constexpr std::int64_t kMistralKeyValueHeads = 8;

void read_mistral_config(ConfigKeys& keys, ModelConfig& config) {
  read_llama_keys(keys, config);
  config.kv_heads = keys.value().has("num_key_value_heads")
                        ? keys.integer_or("num_key_value_heads", config.heads)
                        : kMistralKeyValueHeads;
  config.attention_window =
      keys.value().has("sliding_window") ? keys.integer_or("sliding_window", 0) : kMistralWindow;
  if (const auto window = keys.object("sliding_window"); window && config.attention_window < 1)
    throw error_at(*window, format("a window of {} tokens", config.attention_window),
                   "without a window, sliding_window is null");
}

}  // namespace

ArchitectureEntry mistral_architecture() {
  return {Architecture::kMistral, "mistral", &llama_model(), read_mistral_config};
}

}  // namespace nadi::inline describe
