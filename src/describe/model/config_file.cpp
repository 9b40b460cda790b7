#include "nadi/model/config_file.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/nearest.h"
#include "nadi/model/architectures.h"
#include "nadi/model/catalogue.h"
#include "nadi/model/config_keys.h"

namespace nadi::inline describe {
namespace {

namespace fs = std::filesystem;

std::vector<std::string_view> model_types() {
  std::vector<std::string_view> names;
  for (const ArchitectureEntry& entry : architectures()) names.push_back(entry.model_type);
  return names;
}

const ArchitectureEntry* find_architecture(std::string_view model_type) {
  const auto entry = std::ranges::find(architectures(), model_type, &ArchitectureEntry::model_type);
  return entry == architectures().end() ? nullptr : &*entry;
}

const ArchitectureEntry& architecture_of(JsonValue root, std::string_view given) {
  if (!given.empty()) {
    if (const ArchitectureEntry* entry = find_architecture(given)) return *entry;
    throw usage_error(format("unknown model type '{}'", given), did_you_mean(given, model_types()));
  }
  if (!root.has("model_type"))
    throw error_at(root, "key 'model_type' is missing",
                   format("give the model type; {}", did_you_mean("", model_types())));
  const JsonValue value = root.at("model_type");
  if (const ArchitectureEntry* entry = find_architecture(value.as_string())) return *entry;
  throw error_at(value, format("unknown model_type '{}'", value.as_string()),
                 did_you_mean(value.as_string(), model_types()));
}

ModelConfig config_from(const JsonDocument& document, const std::string& place, std::string_view model_type) {
  const JsonValue root = document.root();
  if (!root.is_object()) throw error_at(root, "a model configuration is a JSON object");
  const ArchitectureEntry& entry = architecture_of(root, model_type);
  ConfigKeys keys(root);
  ModelConfig config;
  config.name = place;
  config.architecture = entry.architecture;
  entry.read_config(keys, config);
  if (config.head_width == 0 && config.heads > 0) {
    if (config.width % config.heads != 0)
      throw input_error({.file = place}, format("a hidden size of {} does not divide over {} attention heads",
                                                config.width, config.heads));
    config.head_width = config.width / config.heads;
  }
  config.ignored_keys = keys.unused();
  check_config(config, place);
  return config;
}

bool looks_like_a_path(const std::string& model) {
  return model.find('/') != std::string::npos || model.ends_with(".json");
}

}  // namespace

ModelConfig read_model_config(const fs::path& path, std::string_view model_type) {
  return config_from(read_json_of(path, "a model configuration", {FileKind::kModelConfig}), path.string(),
                     model_type);
}

ModelConfig parse_model_config(std::string text, const std::string& place) {
  return config_from(parse_json(std::move(text), place), place, "");
}

ModelConfig load_model_config(const std::string& model, std::string_view model_type) {
  if (const ModelConfig* built_in = find_built_in_model(model)) {
    if (!model_type.empty() && model_type != to_string(built_in->architecture))
      throw usage_error(format("'{}' is built in and of type '{}', not '{}'", model,
                               to_string(built_in->architecture), model_type));
    return *built_in;
  }
  std::error_code ignored;
  if (fs::is_directory(model, ignored)) {
    const fs::path config = fs::path(model) / "config.json";
    if (!fs::exists(config, ignored))
      throw input_error({.file = model}, "the folder holds no config.json",
                        "give a checkpoint folder, a config.json, or a built-in model: see 'nadi models'");
    return read_model_config(config, model_type);
  }
  if (fs::exists(model, ignored) || looks_like_a_path(model)) return read_model_config(model, model_type);
  std::vector<std::string_view> names;
  for (const ModelConfig& built_in : built_in_models()) names.push_back(built_in.name);
  throw usage_error(format("unknown model '{}', and no such file or folder", model),
                    did_you_mean(model, names));
}

}  // namespace nadi::inline describe
