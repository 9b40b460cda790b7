// The library's hints say what to do; this adds the flag that does it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nadi::inline show {

// Words of a library's hint, and those of the program in their place. A test looks for the former in the
// sources.
struct FlagWording {
  std::string_view library;
  std::string_view program;
};
std::span<const FlagWording> flag_wordings();

// "read the file leniently to ..." becomes "use --lenient to ...". A hint without such words stays as it is.
std::string hint_with_flags(std::string hint);

}  // namespace nadi::inline show
