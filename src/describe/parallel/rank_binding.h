// With whom an op communicates, in terms of the plan. The same program serves every rank of a stage, so an op
// names a kind of group and a place in it; only the rank turns these into other ranks.
#pragma once

#include <compare>
#include <cstdint>

#include "nadi/parallel/plan.h"
#include "nadi/parallel/stream.h"

namespace nadi::inline describe {

struct Op;

struct RankBinding {
  enum class Kind : std::uint8_t {
    kNone,        // no communication: the same on every rank
    kCollective,  // among all members of the rank's group
    kSend,        // to a member of the rank's group
    kReceive,     // from a member of the rank's group
  };
  Kind kind = Kind::kNone;
  GroupKind group = GroupKind::kTensor;
  std::int64_t peer = 0;  // of a message: its place in the group
  auto operator<=>(const RankBinding&) const = default;
};

// Follows from the kind and the attributes of an op.
RankBinding binding_of(const Op& op);

// The other end of a message, for the rank that sends or receives it.
Rank peer_of(const Plan& plan, const RankBinding& binding, Rank rank);

// Where the work of such an op belongs; see stream.h.
StreamId stream_of(const RankBinding& binding);

}  // namespace nadi::inline describe
