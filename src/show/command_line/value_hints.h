// Values of flags that people try and that the flag does not have: what to type instead. Flags puts it in
// front of the list of known values.
#pragma once

#include <string_view>

namespace nadi::inline show {

// "" where nothing is known about the value.
std::string_view value_hint(std::string_view flag, std::string_view value);

}  // namespace nadi::inline show
