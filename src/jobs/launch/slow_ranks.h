// Ranks that compute as if their machine were slower, for experiments with mixed speeds: the list
// "rank=1:2x,rank=3:1.5x" makes rank 1 half as fast. The launcher passes the factors to the ranks in
// kSlowVariable.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nadi::inline jobs {

// "rank=" and "x" may be left out. Error (usage) for any other text, a rank that the job does not have, a
// rank that is named twice, and a factor below 1.
std::map<int, double> parse_slow_ranks(std::string_view list, int ranks);

inline constexpr std::string_view kSlowVariable = "NADI_SLOW";
std::string slow_variable_value(const std::map<int, double>& factors);  // "1:2,3:1.5"

}  // namespace nadi::inline jobs
