#include "nadi/model/rotary_keys.h"

#include <array>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/nearest.h"

namespace nadi::inline describe {

void read_rotary(JsonValue rope, RotaryFrequencies& rotary) {
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

Json rotary_scaling_json(const RotaryFrequencies& rotary) {
  if (rotary.original_positions == 0) return nullptr;
  return {{"rope_type", "llama3"},
          {"factor", rotary.factor},
          {"low_freq_factor", rotary.low_frequency_factor},
          {"high_freq_factor", rotary.high_frequency_factor},
          {"original_max_position_embeddings", rotary.original_positions}};
}

}  // namespace nadi::inline describe
