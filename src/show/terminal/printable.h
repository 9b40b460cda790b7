// Texts from files, for the terminal.
#pragma once

#include <string>
#include <string_view>

namespace nadi::inline show {

// A short text of plain ASCII as it is; any other in quotes, with what could move the cursor or break the
// line escaped, and cut when it is long.
std::string printable(std::string_view text);

}  // namespace nadi::inline show
