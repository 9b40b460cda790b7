// Errors that all ranks of a job find are said once.
//
// Every rank reads the same command line and the same files, and so finds the same mistakes. Rank 0 says what
// is wrong at once and ends, and whoever started the ranks then ends the others. So the others wait a moment
// before they speak: a rank that is still there afterwards is the only one that found the error.
#pragma once

namespace nadi {

struct Console;

// True when another rank has spoken in place of this one. At once where there are no other ranks.
bool another_rank_says_it(const Console& console);

}  // namespace nadi
