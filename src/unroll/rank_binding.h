// The part of a trace node that differs between ranks of the same program: the process group of a collective,
// and source and destination of a message. Everything else is shared: a node is made once and bound to each
// rank.
#pragma once

#include <compare>
#include <cstdint>

#include "nadi/parallel/plan.h"

namespace nadi {

struct TraceNode;
class ProcessGroups;

struct RankBinding {
  enum class Kind : std::uint8_t {
    kNone,        // the node is the same on every rank
    kCollective,  // pg_name
    kSend,        // comm_src, comm_dst
    kReceive,     // comm_src, comm_dst
  };
  Kind kind = Kind::kNone;
  GroupKind group = GroupKind::kTensor;
  std::int64_t peer = 0;  // of a message: its place in the group
  auto operator<=>(const RankBinding&) const = default;
};

// Adds the attributes that the binding stands for, behind those that are there.
void add_rank_attributes(TraceNode& node, const RankBinding& binding, const Plan& plan,
                         const ProcessGroups& groups, Rank rank);

}  // namespace nadi
