// The object of a config.json that says how rotary frequencies are stretched: rope_scaling, and in the newest
// files rope_parameters. For our own sources.
#pragma once

#include "nadi/base/json.h"
#include "nadi/graph/ops/rotary.h"

namespace nadi::inline describe {

// {"rope_type": "llama3", "factor": 8.0, ...}; older files say "type", newest put rope_theta in here, too.
void read_rotary(JsonValue rope, RotaryFrequencies& rotary);

// The same object, of rope_scaling; null where nothing is stretched.
Json rotary_scaling_json(const RotaryFrequencies& rotary);

}  // namespace nadi::inline describe
