#include "nadi/model/config_file.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/nearest.h"
#include "nadi/model/architecture_reader.h"
#include "nadi/model/catalogue.h"
#include "nadi/model/config_keys.h"
#include "nadi/model/described_config.h"

namespace nadi::inline describe {
namespace {

namespace fs = std::filesystem;

// Where a configuration brings an architecture of its own: its description, or the file that has it.
constexpr std::string_view kDescription = "nadi_architecture";

std::vector<std::string_view> model_types() {
  std::vector<std::string_view> names;
  for (const Architecture& architecture : architectures()) names.push_back(architecture->model_type);
  return names;
}

// A value of one document, as text for another.
Json json_of(JsonValue value) {
  if (value.is_object()) {
    Json json = Json::object();
    for (const auto& [key, member] : value.items()) json[std::string(key)] = json_of(member);
    return json;
  }
  if (value.is_array()) {
    Json json = Json::array();
    for (const JsonValue& element : value.elements()) json.push_back(json_of(element));
    return json;
  }
  if (value.is_string()) return value.as_string();
  if (value.is_bool()) return value.as_bool();
  if (value.is_null()) return nullptr;
  try {
    return value.as_int64();
  } catch (const Error&) {
    return value.as_double();
  }
}

Architecture described_by(JsonValue description) {
  ArchitectureDescription read = read_architecture(description);
  if (find_architecture(read.model_type) != nullptr)
    throw error_at(description.at("model_type"),
                   format("an architecture of type '{}' is built in", read.model_type),
                   "give the description another model_type");
  read.text = json_of(description).dump();
  return Architecture(std::make_shared<const ArchitectureDescription>(std::move(read)));
}

// `folder` is where a file that is named lies; nullptr where none can be.
Architecture own_architecture(JsonValue value, const fs::path* folder) {
  if (!value.is_string()) return described_by(value);
  if (folder == nullptr)
    throw error_at(value, "a description in another file, which cannot be read from here",
                   "put the description itself in its place");
  const JsonDocument document = read_json(*folder / value.as_string());
  return described_by(document.root());
}

Architecture architecture_of(JsonValue root, std::string_view given, const fs::path* folder) {
  if (const auto own = root.find(kDescription)) {
    const Architecture architecture = own_architecture(*own, folder);
    if (const auto type = root.find("model_type"); type && type->as_string() != architecture->model_type)
      throw error_at(*type, format("the type is '{}' here, and '{}' in the description of the architecture",
                                   type->as_string(), architecture->model_type));
    if (!given.empty() && given != architecture->model_type)
      throw usage_error(format("the configuration describes an architecture of type '{}', not '{}'",
                               architecture->model_type, given));
    return architecture;
  }
  if (!given.empty()) {
    if (const Architecture* const found = find_architecture(given)) return *found;
    throw usage_error(format("unknown model type '{}'", given), did_you_mean(given, model_types()));
  }
  if (!root.has("model_type"))
    throw error_at(root, "key 'model_type' is missing",
                   format("give the model type; {}", did_you_mean("", model_types())));
  const JsonValue value = root.at("model_type");
  if (const Architecture* const found = find_architecture(value.as_string())) return *found;
  throw error_at(value, format("unknown model_type '{}'", value.as_string()),
                 did_you_mean(value.as_string(), model_types()));
}

ModelConfig config_from(const JsonDocument& document, const std::string& place, std::string_view model_type,
                        const fs::path* folder) {
  const JsonValue root = document.root();
  if (!root.is_object()) throw error_at(root, "a model configuration is a JSON object");
  ConfigKeys keys(root);
  ModelConfig config;
  config.name = place;
  config.architecture = architecture_of(root, model_type, folder);
  keys.object(kDescription);
  read_described_config(keys, config);
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
  const fs::path folder = path.parent_path();
  return config_from(read_json_of(path, "a model configuration", {FileKind::kModelConfig}), path.string(),
                     model_type, &folder);
}

ModelConfig parse_model_config(std::string text, const std::string& place) {
  return config_from(parse_json(std::move(text), place), place, "", nullptr);
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
