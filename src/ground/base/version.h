// The version of this build, as in CMakeLists.txt: "0.1.0".
#pragma once

#include <string_view>

namespace nadi::inline ground {

std::string_view version();

}  // namespace nadi::inline ground
