// What the program's exit codes mean, for help and the manual pages. base/error.h has the codes themselves.
#pragma once

#include <span>
#include <string_view>

namespace nadi::inline show {

struct ExitCodeEntry {
  std::string_view code;
  std::string_view brief;    // a word or two, for a list on a line
  std::string_view meaning;  // for a list with a line for each
};
std::span<const ExitCodeEntry> exit_codes();

}  // namespace nadi::inline show
