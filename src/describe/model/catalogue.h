// The models that are built in, by name.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "nadi/model/model_config.h"

namespace nadi::inline describe {

std::span<const ModelConfig> built_in_models();

// nullptr when there is none of that name.
const ModelConfig* find_built_in_model(std::string_view name);

}  // namespace nadi::inline describe
