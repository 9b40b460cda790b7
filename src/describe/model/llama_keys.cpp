#include "nadi/model/llama_keys.h"

#include <array>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/model/config_keys.h"
#include "nadi/model/model_config.h"

namespace nadi::inline describe {
namespace {

// {"rope_type": "llama3", "factor": 8.0, ...}; older files say "type", newest put rope_theta in here, too.
void read_rope(JsonValue rope, RotaryFrequencies& rotary) {
  static constexpr std::array<std::string_view, 7> kKeys{
      "rope_type",        "type",
      "factor",           "low_freq_factor",
      "high_freq_factor", "original_max_position_embeddings",
      "rope_theta"};
  rope.refuse_keys_except(kKeys);
  if (const auto theta = rope.find("rope_theta")) rotary.theta = theta->as_double();
  const auto type = rope.has("rope_type") ? rope.find("rope_type") : rope.find("type");
  if (!type || type->as_string() == "default") return;
  static constexpr std::array<std::string_view, 2> kTypes{"default", "llama3"};
  if (type->as_string() != "llama3")
    throw error_at(*type, format("unknown rope_type '{}'", type->as_string()),
                   did_you_mean(type->as_string(), kTypes));
  rotary.factor = rope.at("factor").as_double();
  rotary.low_frequency_factor = rope.at("low_freq_factor").as_double();
  rotary.high_frequency_factor = rope.at("high_freq_factor").as_double();
  rotary.original_positions = rope.at("original_max_position_embeddings").as_int64();
  for (const auto& [key, value] :
       {std::pair{"factor", rotary.factor}, std::pair{"low_freq_factor", rotary.low_frequency_factor}})
    if (!(value > 0)) throw error_at(rope.at(key), format("{} is {}; it is above 0", key, value));
  if (rotary.original_positions < 1)
    throw error_at(
        rope.at("original_max_position_embeddings"),
        format("original_max_position_embeddings is {}; it is 1 or more", rotary.original_positions));
  if (!(rotary.high_frequency_factor > rotary.low_frequency_factor))
    throw error_at(rope.at("high_freq_factor"),
                   format("high_freq_factor is {}; it is above low_freq_factor, {}",
                          rotary.high_frequency_factor, rotary.low_frequency_factor));
}

}  // namespace

void read_llama_keys(ConfigKeys& keys, ModelConfig& config) {
  config.vocabulary = keys.integer("vocab_size");
  config.positions = keys.integer("max_position_embeddings");
  config.width = keys.integer("hidden_size");
  config.layers = keys.integer("num_hidden_layers");
  config.heads = keys.integer("num_attention_heads");
  config.head_width = keys.integer_or("head_dim", 0);
  config.ffn_width = keys.integer("intermediate_size");
  config.attention_dropout = keys.real_or("attention_dropout", 0);
  config.norm_epsilon = keys.real_or("rms_norm_eps", 1e-6);
  config.initializer_range = keys.real_or("initializer_range", 0.02);
  config.tied_embeddings = keys.boolean_or("tie_word_embeddings", false);
  config.attention_bias = config.attention_output_bias = config.ffn_bias = false;
  config.rotary.theta = keys.real_or("rope_theta", 10000);
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (const auto rope = keys.object(key)) read_rope(*rope, config.rotary);
  keys.only_text("hidden_act", "silu");
}

}  // namespace nadi::inline describe
