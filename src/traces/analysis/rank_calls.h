// The communication of one rank: its collectives and messages with their times, in a form that is small
// enough to keep for all ranks after their traces are released.
//
//   std::vector<RankCalls> ranks;
//   ranks.push_back(calls_of(timeline, rank));
//   const Meetings meetings(ranks);                    // meetings.h
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/analysis/intervals.h"
#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

struct CollectiveCall {
  std::uint32_t kind = 0;   // position in RankCalls::kinds
  std::uint32_t group = 0;  // position in RankCalls::groups
  std::uint32_t row = 0;    // in the timeline
  std::uint32_t text = 0;   // number of the text of pg_name in the trace
  Nanoseconds start = {}, end = {};
};

struct MessageCall {
  bool sends = false;
  std::int64_t peer = 0;  // a rank
  std::int64_t tag = 0;
  std::uint32_t row = 0;   // in the timeline
  std::uint32_t text = 0;  // as above
  Nanoseconds start = {}, end = {};
};

struct RankCalls {
  std::int64_t rank = 0;
  std::vector<std::string> kinds = {}, groups = {};
  std::vector<CollectiveCall> calls = {};  // in the order of their starts
  std::vector<MessageCall> messages = {};  // in the order of their starts; those that name their peer
  Intervals without_peer = {};             // messages that do not
  Intervals exposed = {};                  // while something communicated and nothing computed
};

// `clock_offset` is added to all times: what the rank's clock counts from, minus what the others' do.
RankCalls calls_of(const Timeline& timeline, std::int64_t rank, Nanoseconds clock_offset = {});

}  // namespace nadi::inline traces
