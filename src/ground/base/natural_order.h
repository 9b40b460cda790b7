// The order in which people list names with numbers in them: "h.2" before "h.10".
//
//   std::ranges::sort(names, natural_less);
#pragma once

#include <string_view>

namespace nadi::inline ground {

// Runs of digits are compared as numbers of any length, all else byte by byte. Names that differ in leading
// zeros only are ordered as plain texts, so that the order is total.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace nadi::inline ground
