// What the program would do with a file that a command did not want: hints for WrongFileKind.
#pragma once

#include <string>
#include <string_view>

#include "nadi/base/file_kind.h"

namespace nadi::inline show {

// "use 'nadi analyze FILE'": commands and flags that take such a file, other than the command that refused
// it; or what advice_for() says; or "".
std::string hint_for(FileKind kind, std::string_view command);

}  // namespace nadi::inline show
