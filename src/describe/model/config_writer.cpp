#include "nadi/model/config_writer.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/model/config_fields.h"
#include "nadi/model/config_file.h"
#include "nadi/model/described_config.h"

namespace nadi::inline describe {
namespace {

// As PyTorch names it.
std::string_view torch_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float32";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF8E4M3:
      return "float8_e4m3fn";
    case DType::kF8E5M2:
      return "float8_e5m2";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
  }
  unreachable();
}

// What the text does not say of the configuration that it was written from.
void require_said(const ModelConfig& config, const std::string& text) {
  const ModelConfig back = parse_model_config(text, config.name);
  const RotaryFrequencies& rotary = config.rotary;
  if (config.architecture->rotary() &&
      (back.rotary.theta != rotary.theta || (rotary.original_positions > 0 && back.rotary != rotary)))
    throw cannot_say(config, "which frequencies its rotary positions have");
  const ConfigField* const field = first_difference(config, back);
  if (field == nullptr) return;
  const std::string_view name = field->name;
  if (name == "kv_heads") throw cannot_say(config, "that queries are grouped");
  if (name == "head_width") throw cannot_say(config, "how wide a head is");
  if (name.ends_with("_dropout")) throw cannot_say(config, "that there is dropout outside of attention");
  if (name.ends_with("_bias")) {
    const bool has = config.*std::get<bool ModelConfig::*>(field->member);
    throw cannot_say(config, has ? "that a layer has biases" : "that a layer has no bias");
  }
  if (name == "attention_window") throw cannot_say(config, "that attention has a window");
  if (name == "first_window_layer") throw cannot_say(config, "that only some layers have a window");
  throw cannot_say(config, format("what its {} is", name));
}

}  // namespace

std::string config_json(const ModelConfig& config, const ConfigJsonOptions& options) {
  const ArchitectureDescription& architecture = *config.architecture;
  Json json{{"architectures", Json::array({architecture.class_name})},
            {"model_type", to_string(config.architecture)},
            {"torch_dtype", torch_name(options.dtype)}};
  if (!architecture.built_in()) json["nadi_architecture"] = Json::parse(architecture.text);
  write_described_config(config, json);
  if (options.begin_token) json["bos_token_id"] = *options.begin_token;
  if (options.end_token) json["eos_token_id"] = *options.end_token;
  if (options.padding_token) json["pad_token_id"] = *options.padding_token;
  std::string text = dump_json(json);
  require_said(config, text);
  return text;
}

}  // namespace nadi::inline describe
