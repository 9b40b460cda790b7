// How ranks make the communicators of a library that has one for each group (NCCL) in as few calls as can be:
// first one of all ranks, from which the others are split, several at a time. A split is a call of all ranks,
// in which each says its colour; those of one colour get a communicator. So groups that have no rank in common
// are made by one call.
//
//   const std::vector<ChannelNeed> own = ...;                        // what this rank needs
//   ... all-gather them ...
//   const ChannelPlan plan = plan_channels(needs_of_all, {.own = rank});      // the same rounds on all ranks
//   for (const ChannelPlan::Round& round : plan.rounds) split(round.color, ...);
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nadi/parallel/plan.h"

namespace nadi::inline engines {

// A communicator that a rank needs, in words that are the same for all ranks that need it. Plain numbers: it is
// sent from rank to rank as it is.
struct ChannelNeed {
  std::int32_t size = 0;      // so many ranks
  std::int32_t first = 0;     // the one that begins: the group's first member, or the sender
  std::int32_t second = -1;   // of a line of messages the receiver; -1 means a group
  std::int32_t repeated = 0;  // so many groups of the same members come before it
  std::int64_t tag = 0;       // of messages
  std::uint64_t members = 0;  // of the group, as hash_of_members() has them

  auto operator<=>(const ChannelNeed&) const = default;
};
std::uint64_t hash_of_members(std::span<const Rank> members);

struct ChannelPlan {
  // The one of the own needs that is all ranks, in their order: the communicator that the others are split from
  // is this one. There is one on all ranks or on none.
  std::optional<std::size_t> world = {};
  struct Round {
    std::int32_t color = -1;  // among the communicators of the round; -1 means this rank is in none
    std::size_t need = 0;     // number of the own need
  };
  std::vector<Round> rounds = {};
};

struct ChannelPlanOptions {
  Rank own = {};
  bool world_is_free = true;  // the communicator of all ranks is not a group's yet
};
// `of_ranks` by rank. It is a bug when not all members of a group need it.
ChannelPlan plan_channels(std::span<const std::vector<ChannelNeed>> of_ranks,
                          const ChannelPlanOptions& options);

}  // namespace nadi::inline engines
