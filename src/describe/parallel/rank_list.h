// Sets of ranks as text: "0,8-15".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

// The ranks of a list, ascending. Error (usage), naming `flag`, when the text is no list of ranks and ranges,
// names a rank twice, or one outside of a world of that size.
std::vector<Rank> parse_ranks(std::string_view flag, std::string_view text, std::int64_t world_size);

// "0,8-15": what parse_ranks() reads. `ranks` ascend.
std::string as_ranges(std::span<const Rank> ranks);

// The same for a line of text: of many ranges only the first two and the last, "0-7, 16-23, ..., 112-119".
std::string as_short_ranges(std::span<const Rank> ranks);

}  // namespace nadi::inline describe
