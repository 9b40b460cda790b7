// The variables of the environment that the program heeds, for help and the manual page.
#pragma once

#include <span>
#include <string_view>

namespace nadi::inline show {

struct VariableEntry {
  std::string_view name;
  std::string_view help;
};
std::span<const VariableEntry> environment_variables();

}  // namespace nadi::inline show
