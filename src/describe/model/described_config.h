// A configuration through the keys that its architecture describes: read from a config.json, written to one.
// For our own sources; config_file.h and config_writer.h are what others call.
#pragma once

#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/model/model_config.h"

namespace nadi::inline describe {

class ConfigKeys;

// Sets the fields of `config`, whose architecture is known. Error (input) with the place of a key that is
// missing, of a wrong type, or that makes another model than the one Nadi builds.
void read_described_config(ConfigKeys& keys, ModelConfig& config);

// Adds the keys, in the order of the description. Error (input) when fields that one key sets differ.
void write_described_config(const ModelConfig& config, Json& json);

// What a configuration has and its architecture's file has no key for: an Error (input).
Error cannot_say(const ModelConfig& config, std::string_view what);

}  // namespace nadi::inline describe
