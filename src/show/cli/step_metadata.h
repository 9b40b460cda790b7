// What makes the traces of a step explain themselves: model, step and plan, as resolved_json() has them. No
// times and no machine names: same input, same bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nadi/base/json.h"

namespace nadi::inline show {

std::vector<std::pair<std::string, std::string>> step_metadata(const Json& resolved);

}  // namespace nadi::inline show
