// From what a user writes as the model to its configuration.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "nadi/model/model_config.h"

namespace nadi::inline describe {

// `model` is the name of a built-in model, a config.json as Hugging Face writes it, or a checkpoint folder
// that holds one. `model_type` says what a configuration without that key is; "" when the user did not say.
// An unknown name is Error (usage) with the nearest one; what is wrong in a file is Error (input) with its
// place.
ModelConfig load_model_config(const std::string& model, std::string_view model_type = "");

// A configuration file alone.
ModelConfig read_model_config(const std::filesystem::path& path, std::string_view model_type = "");
// The text of one that stands in another file; `place` names it in messages.
ModelConfig parse_model_config(std::string text, const std::string& place);

}  // namespace nadi::inline describe
