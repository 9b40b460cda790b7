// How ranks end that hang, or whose output nobody takes: what is said, and the exit code.
#pragma once

#include <chrono>
#include <string_view>

#include "nadi/launch/rank_watch.h"

namespace nadi::inline show {

struct Console;

// What a rank is watched with. A rank that hangs says so on standard error, and the process ends.
RankWatchOptions rank_watch(std::chrono::milliseconds timeout, const Console& console);

// For `nadi launch`, whose ranks were killed because nobody took their output.
[[noreturn]] void end_for_stuck_output(std::chrono::milliseconds timeout, bool stopped);

// What helps after "no rank has made progress".
std::string_view comm_timeout_hint();

}  // namespace nadi::inline show
