// Whether the ranks of a run wait for each other in a circle, told by their traces alone.
//
//   if (const auto deadlock = find_run_deadlock(traces, communication)) complain(deadlock->message);
//
// A node runs when all that it depends on has ended, any number at a time. A collective ends when every member of its group has come to
// it: the n-th of a group on one rank belongs to the n-th on another. A sent message is buffered: the send ends at once, and
// the receive waits for it. So what is found hangs on any machine; a run that hangs only because a send waits for its
// receive is not found (parallel/deadlock_check.h finds that of our own programs).
//
// Takes time and memory in proportion to nodes and dependencies. The run must be whole, and its collectives and messages must match
// (rank_check.h): with partners missing, everything waits for ever.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "nadi/check/astra_sim_play.h"
#include "nadi/check/rank_communication.h"

namespace nadi::inline traces {

struct RunDeadlock {
  std::size_t rank = 0;  // into both spans: the first of the circle
  TraceNodeId node = {};
  std::string node_name = {};
  std::string message = {};  // "rank 0 waits in 'a' for rank 1, which waits in 'b' for rank 0"
};

// Both of the same ranks, in order.
std::optional<RunDeadlock> find_run_deadlock(std::span<const PlayedTrace> ranks,
                                             std::span<const RankCommunication> communication);

}  // namespace nadi::inline traces
