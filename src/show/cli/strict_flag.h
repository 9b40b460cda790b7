// --strict of every command that reads traces: what Chakra's own converter leaves in files (dependencies on
// nodes that are not there) is read with a note otherwise.
#pragma once

#include <string_view>

namespace nadi::inline show {

class Flags;

void add_strict_flag(Flags& flags, std::string_view group = "flags");

}  // namespace nadi::inline show
