// Stragglers: how long each rank waited for others in collectives, and how long others waited for it.
//
//   const Meetings meetings(ranks);                             // RankCalls of each rank
//   const Stragglers stragglers = find_stragglers(ranks, meetings);
//   for (const StragglerRank& rank : stragglers.ranks) use(rank.rank, rank.caused, rank.suffered);
//
// meetings.h says how collectives are matched and how waiting time is separated from transfer time. Messages
// are not counted: a pipeline stage that runs after another stage is not late.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/analysis/meetings.h"
#include "nadi/analysis/rank_calls.h"

namespace nadi::inline traces {

struct StragglerRank {
  std::int64_t rank = 0;
  std::int64_t collectives = 0;  // matched
  std::int64_t last = 0;         // collectives in which this rank came last
  Nanoseconds caused = {};       // waiting time of the others, summed over collectives
  Nanoseconds suffered = {};     // its own waiting time
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
  std::int64_t unmatched = 0;                         // calls that no other rank of the group has
  std::int64_t impossible = 0;                        // meetings that somebody left before the last had come
  Nanoseconds waited = {};                            // summed over collectives and ranks
  std::vector<StragglerRank> ranks = {};              // in the order given
  std::vector<StragglerCollective> collectives = {};  // the most waited first; up to `kept`
};

Stragglers find_stragglers(const std::vector<RankCalls>& ranks, const Meetings& meetings,
                           std::size_t kept = 100);

}  // namespace nadi::inline traces
