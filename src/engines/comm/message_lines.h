// Lines of messages: those of one tag from one rank to another. What communicates by lines (NCCL) makes each
// before it is used, together with the rank at the other end.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "nadi/comm/communicator.h"

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline engines {

class PlanGroups;

// One line of this rank.
struct MessageLine {
  CommGroup group = kWorld;
  std::int64_t peer = 0;  // its place in the group
  std::int64_t tag = 0;
  bool sends = false;  // else it receives
  Rank other = {};     // the peer, in the job

  auto operator<=>(const MessageLine&) const = default;
};

// The lines that a program uses, each once, in an order in which all ranks of the job can make theirs with
// the other end waiting for it: by the two ranks, the lower one first, then by sender and tag. Of all lines
// that are still to be made, the first in this order is next for both its ends, so that no ranks wait for
// each other in a circle.
std::vector<MessageLine> message_lines(const Program& program, const PlanGroups& groups);

// The groups of the program's collectives, each once.
std::vector<CommGroup> groups_of_collectives(const Program& program, const PlanGroups& groups);

}  // namespace nadi::inline engines
