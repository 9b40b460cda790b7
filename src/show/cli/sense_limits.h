// Limits of sense: more ranks or threads than a machine can serve are refused before anything starts, since what
// begins anyway stands still for hours. --oversubscribe lifts them.
#pragma once

#include <cstdint>
#include <string_view>

namespace nadi::inline show {

class Flags;

inline constexpr std::int64_t kMostRanksPerCore = 8;
inline constexpr std::int64_t kMostThreadsPerCore = 4;

// --oversubscribe.
void add_oversubscribe_flag(Flags& flags, std::string_view group = "flags");

// Ranks that would all run on this machine. `flag` is the one that asked for them. Error (environment) with
// the numbers where there are more than kMostRanksPerCore for each core that this process may use.
void check_ranks_here(const Flags& flags, std::string_view flag, std::int64_t ranks);
// Threads of one process, the same way.
void check_threads_here(const Flags& flags, std::string_view flag, std::int64_t threads);

// The same with the cores given. For tests.
void check_ranks_on(std::string_view flag, std::int64_t ranks, std::int64_t cores);
void check_threads_on(std::string_view flag, std::int64_t threads, std::int64_t cores);

}  // namespace nadi::inline show
