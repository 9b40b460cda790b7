// --slow: ranks that compute as on a slower machine (job/slow_ranks.h).
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "nadi/parallel/plan.h"

namespace nadi::inline show {

class Flags;

// Factors by rank. `name` is the flag or the variable that has the list: messages begin with it.
std::map<int, double> slow_ranks_of(std::string_view name, std::string_view list, int ranks);

// The factor of a rank, by --slow or by the environment of the launcher; 1 for a rank that they do not name.
double slowdown_of(const Flags& flags, Rank rank, std::int64_t ranks);

}  // namespace nadi::inline show
