// Hosts with their numbers of ranks, as mpirun takes them: "a:2,b" has two ranks on a and one on b.
#pragma once

#include <cstdint>
#include <string_view>

namespace nadi::inline jobs {

// The largest job.
inline constexpr std::int64_t kMostRanksOfJob = 1 << 20;

// The number of ranks on all hosts: 3 for "a:2,b". Error (usage) for an empty name, or a number that is not
// from 1 to kMostRanksOfJob.
std::int64_t ranks_on(std::string_view hosts);

}  // namespace nadi::inline jobs
