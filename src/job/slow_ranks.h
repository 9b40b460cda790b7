// `--slow rank=1:2x,rank=3:1.5x`: ranks that are to compute as if their machine were slower, for experiments
// with mixed speeds. The engine reads the factors from the environment.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nadi {

// A list of "rank=1:2x"; "rank=" and "x" may be left out. Error (usage) for what is no such list, a rank that
// the job does not have or that is named twice, a factor below 1.
std::map<int, double> parse_slow_ranks(std::string_view list, int ranks);

inline constexpr std::string_view kSlowVariable = "NADI_SLOW";
std::string slow_variable_value(const std::map<int, double>& factors);  // "1:2,3:1.5"

}  // namespace nadi
