// Errors that all ranks of a job find are printed once.
//
// Every rank reads the same command line and the same files, and so finds the same mistakes. Rank 0 prints
// its error at once and ends, and the launcher then ends the other ranks. So the others wait a moment before
// they print: a rank that still runs afterwards is the only one that found the error.
#pragma once

#include <functional>

namespace nadi::inline jobs {

// True when another rank has printed the error in place of this one: `end_asked` became true while this rank
// waited. Returns at once on rank 0 and where there are no other ranks.
bool another_rank_prints_error(const std::function<bool()>& end_asked);

}  // namespace nadi::inline jobs
