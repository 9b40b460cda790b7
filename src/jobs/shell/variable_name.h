// Names of variables in shell's language.
#pragma once

#include <string_view>

namespace nadi::inline jobs {

bool is_variable_name(std::string_view text);  // letters, digits and '_', no digit in front

}  // namespace nadi::inline jobs
