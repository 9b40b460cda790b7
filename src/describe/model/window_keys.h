// The keys of a config.json about an attention window: which layers have one, of how many tokens. For our own
// sources.
#pragma once

#include "nadi/base/json.h"
#include "nadi/model/model_config.h"

namespace nadi::inline describe {

class ConfigKeys;

// Of all layers: the key has the tokens, or null where there is no window. Of the upper ones: the key has
// them, use_sliding_window says whether they count, max_window_layers how many layers from below have none,
// and layer_types, where it is there, repeats all that.
void read_window(ConfigKeys& keys, const ConfigEntry& entry, ModelConfig& config);
void write_window(const ModelConfig& config, const ConfigEntry& entry, Json& json);

}  // namespace nadi::inline describe
