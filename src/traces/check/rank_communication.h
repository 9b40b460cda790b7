// The communication of one rank: its collectives and messages in the order of their starts, in a form that is
// small enough to keep for all ranks after their traces are released.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/check/checked_trace.h"
#include "nadi/trace/node_type.h"
#include "nadi/trace/string_table.h"

namespace nadi::inline traces {

struct CheckedCollective {
  TraceNodeId node{};
  std::uint32_t name = 0;   // into RankCommunication::texts
  std::uint32_t group = 0;  // the same; "" for all ranks
  CollectiveType type = CollectiveType::kAllReduce;
  std::int64_t bytes = 0;
};

struct Message {
  TraceNodeId node{};
  std::uint32_t name = 0;  // into RankCommunication::texts
  std::int64_t peer = 0;
  std::int64_t tag = 0;
  std::int64_t bytes = 0;
};

struct RankCommunication {
  std::string file;
  std::int64_t rank = 0;
  StringTable texts;
  std::vector<CheckedCollective> collectives;
  std::vector<Message> sends;
  std::vector<Message> receives;
};

// Takes nodes that are no host ops. In the order of their start times, where all of them have one, else of
// the file. Those that do not say what is needed are findings, and so are those that name another rank as
// their own. `checked` has a rank.
RankCommunication communication_of(const CheckedTrace& checked, Findings& findings);

}  // namespace nadi::inline traces
