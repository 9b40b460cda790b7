// Long names of one list, shortened so that names which differ still do.
//
//   shorten_names({"kernel<add, float>(...)", "kernel<mul, float>(...)"}, 12)
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nadi::inline ground {

// Each is shortened as shorten_middle() does (shorten.h). Names that would then be the same keep the place
// where they begin to differ, too: "start…place…end". Names that even so cannot be told apart end with "#2",
// "#3", in the order of the list. Results have at most `most` characters, which must be 12 or more.
std::vector<std::string> shorten_names(const std::vector<std::string>& names, std::size_t most);

}  // namespace nadi::inline ground
