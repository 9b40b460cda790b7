// distribution_from_json() for readers that know the place themselves. For sources of this room.
#pragma once

#include <string_view>

#include "nadi/study/distribution.h"

namespace nadi::inline tuning {

// PythonJsonError (python_json.h) where the text is no distribution, or one without a value.
ParameterDistribution parse_distribution(std::string_view text);

}  // namespace nadi::inline tuning
