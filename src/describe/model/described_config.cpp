#include "nadi/model/described_config.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/model/config_fields.h"
#include "nadi/model/config_keys.h"
#include "nadi/model/rotary_keys.h"
#include "nadi/model/window_keys.h"

namespace nadi::inline describe {
namespace {

// What a field has where its key is missing or null.
template <class Value>
Value default_as(const ConfigDefault& value, const ModelConfig& config) {
  if (const auto* const ratio = std::get_if<ConfigRatio>(&value)) {
    const ConfigField* const field = find_config_field(ratio->of);
    const auto of = config.*std::get<std::int64_t ModelConfig::*>(field->member);
    // Extents are checked later; this one must not run over before.
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    return static_cast<Value>((of > kMost || of < -kMost ? kMost : of) * ratio->times);
  }
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) return static_cast<Value>(*whole);
  if (const auto* const real = std::get_if<double>(&value)) return static_cast<Value>(*real);
  return static_cast<Value>(std::get<bool>(value));
}

const ConfigDefault& default_of(ConfigKeys& keys, const ConfigEntry& entry) {
  const bool is_null =
      !std::holds_alternative<std::monostate>(entry.when_null) && keys.value().has(entry.key);
  return is_null ? entry.when_null : entry.otherwise;
}

void read_field(ConfigKeys& keys, const ConfigEntry& entry, ModelConfig& config) {
  const ConfigDefault& otherwise = default_of(keys, entry);
  const bool required = std::holds_alternative<std::monostate>(otherwise);
  const auto set = [&](auto value) {
    for (const std::string& name : entry.sets) {
      const auto member = find_config_field(name)->member;
      if (const auto* const own = std::get_if<decltype(value) ModelConfig::*>(&member)) config.** own = value;
    }
  };
  const ConfigField& field = *find_config_field(entry.sets.front());
  if (std::holds_alternative<std::int64_t ModelConfig::*>(field.member))
    set(required ? keys.integer(entry.key)
                 : keys.integer_or(entry.key, default_as<std::int64_t>(otherwise, config)));
  else if (std::holds_alternative<double ModelConfig::*>(field.member))
    set(keys.real_or(entry.key, default_as<double>(otherwise, config)));
  else if (std::holds_alternative<bool ModelConfig::*>(field.member))
    set(keys.boolean_or(entry.key, default_as<bool>(otherwise, config)));
  else if (std::holds_alternative<std::vector<std::int64_t> ModelConfig::*>(field.member))
    set(keys.integers_or_none(entry.key));
  else
    set(keys.activation(entry.key, std::get<std::string>(otherwise)));
}

void read_described_entry(ConfigKeys& keys, const ConfigEntry& entry, ModelConfig& config) {
  if (entry.window != ConfigEntry::Window::kNone) return read_window(keys, entry, config);
  if (entry.without_effect) {
    keys.object(entry.key);
    return;
  }
  if (entry.only) {
    if (const auto* const text = std::get_if<std::string>(&*entry.only))
      keys.only_text(entry.key, *text);
    else
      keys.only(entry.key, std::get<bool>(*entry.only));
    return;
  }
  if (entry.sets.front() == kRotaryTheta)
    config.rotary.theta = keys.real_or(entry.key, default_as<double>(entry.otherwise, config));
  else if (entry.sets.front() == kRotaryScaling) {
    if (const auto rope = keys.object(entry.key)) read_rotary(*rope, config.rotary);
  } else {
    read_field(keys, entry, config);
  }
}

std::string_view activation_name(const ModelConfig& config) {
  switch (config.activation) {
    case Activation::kGeluTanh:
      return "gelu_new";
    case Activation::kGeluErf:
      return "gelu";
    case Activation::kNone:
      break;
  }
  throw cannot_say(config, "that there is no activation");
}

Json value_of(const ModelConfig& config, const ConfigField& field) {
  return std::visit(
      [&](const auto member) -> Json {
        if constexpr (std::is_same_v<decltype(member), Activation ModelConfig::*const>)
          return activation_name(config);
        else
          return config.*member;
      },
      field.member);
}

void require_one_value(const ModelConfig& config, const ConfigEntry& entry) {
  const ConfigField& first = *find_config_field(entry.sets.front());
  for (const std::string& name : entry.sets) {
    const ConfigField& field = *find_config_field(name);
    if (value_of(config, field) == value_of(config, first)) continue;
    if (name == "kv_heads") throw cannot_say(config, "that queries are grouped");
    if (name.ends_with("dropout"))
      throw cannot_say(config, "that embeddings and layers have different dropout");
    if (name.ends_with("bias")) throw cannot_say(config, "that only a part of attention has biases");
    throw cannot_say(config, format("that {} is not {}", first.name, field.name));
  }
}

void write_described_entry(const ModelConfig& config, const ConfigEntry& entry, Json& json) {
  if (entry.window != ConfigEntry::Window::kNone) return write_window(config, entry, json);
  if (entry.without_effect || !entry.written) return;
  if (entry.only) {  // a switch that is off or on as everybody assumes is left out
    if (const auto* const text = std::get_if<std::string>(&*entry.only)) json[entry.key] = *text;
    return;
  }
  if (entry.sets.front() == kRotaryTheta) {
    json[entry.key] = config.rotary.theta;
  } else if (entry.sets.front() == kRotaryScaling) {
    json[entry.key] = rotary_scaling_json(config.rotary);
  } else {
    require_one_value(config, entry);
    json[entry.key] = value_of(config, *find_config_field(entry.sets.front()));
  }
}

}  // namespace

Error cannot_say(const ModelConfig& config, std::string_view what) {
  return input_error({.file = config.name}, format("a config.json of type '{}' cannot say {}",
                                                   to_string(config.architecture), what));
}

void read_described_config(ConfigKeys& keys, ModelConfig& config) {
  for (const auto& [name, value] : config.architecture->fixed)
    config.*std::get<bool ModelConfig::*>(find_config_field(name)->member) = value;
  for (const ConfigEntry& entry : config.architecture->configuration)
    read_described_entry(keys, entry, config);
  const auto sets_kv_heads = [](const ConfigEntry& entry) {
    return std::ranges::find(entry.sets, "kv_heads") != entry.sets.end();
  };
  if (std::ranges::none_of(config.architecture->configuration, sets_kv_heads)) config.kv_heads = config.heads;
}

void write_described_config(const ModelConfig& config, Json& json) {
  for (const ConfigEntry& entry : config.architecture->configuration)
    write_described_entry(config, entry, json);
}

}  // namespace nadi::inline describe
