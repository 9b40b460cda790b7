// Who let the others wait: the collectives of several ranks, matched, and what each rank waited in them.
//
//   std::vector<RankCollectives> ranks;                  // collectives_of() each rank's timeline
//   const Stragglers stragglers = find_stragglers(ranks);
//   for (const StragglerRank& rank : stragglers.ranks) use(rank.rank, rank.caused, rank.suffered);
//
// The k-th collective of a group on one rank is the k-th on every other, in the order of their starts. It
// takes place when all have come, so a rank that came early waits for the one that came last. Two measures:
//
//   arrival    start of the last to come minus own start. Needs one clock for all ranks.
//   duration   own duration minus the shortest: all leave at about the same time, and who came last stayed
//              shortest. Needs no common clock.
//
// Clocks are taken as recorded and believed when in nine of ten matched collectives nobody left before the
// last had come; then arrival is used, else duration. Groups whose ranks disagree about the number of their
// collectives are matched as far as the shortest list goes, and the rest counted; where they disagree about
// the kind, the rest of the group's is counted as unmatched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/analysis/timeline.h"

namespace nadi {

struct CollectiveCall {
  std::uint32_t kind = 0;   // position in RankCollectives::kinds
  std::uint32_t group = 0;  // position in RankCollectives::groups
  Nanoseconds start = {}, end = {};
};

struct RankCollectives {
  std::int64_t rank = 0;
  std::vector<std::string> kinds = {}, groups = {};
  std::vector<CollectiveCall> calls = {};  // in the order of their starts
};
RankCollectives collectives_of(const Timeline& timeline, std::int64_t rank);

enum class WaitMeasure { kArrival, kDuration };

struct StragglerRank {
  std::int64_t rank = 0;
  std::int64_t collectives = 0;  // matched
  std::int64_t last = 0;         // of these, in how many it came last
  Nanoseconds caused = {};       // what others waited in these, summed over them
  Nanoseconds suffered = {};     // what it waited itself
};

struct StragglerCollective {
  std::string group = {}, kind = {};
  std::int64_t number = 0;     // within the group, from 0
  std::int64_t last_rank = 0;  // who came last
  std::int64_t first_rank = 0;
  Nanoseconds longest_wait = {};  // of the first to come
  Nanoseconds waited = {};        // summed over all
};

struct Stragglers {
  WaitMeasure measure = WaitMeasure::kArrival;
  std::int64_t matched = 0;
  std::int64_t unmatched = 0;             // calls that no other rank of the group has
  std::int64_t impossible = 0;            // matched ones in which somebody left before the last had come
  Nanoseconds waited = {};                // summed over collectives and ranks
  std::vector<StragglerRank> ranks = {};  // in the order given
  std::vector<StragglerCollective> collectives = {};  // the most waited first; up to `kept`
};

// Groups that only one of the ranks has are passed over.
Stragglers find_stragglers(const std::vector<RankCollectives>& ranks, std::size_t kept = 100);

}  // namespace nadi
