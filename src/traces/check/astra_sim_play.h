// Plays the traces of a run as the workload layer of ASTRA-sim does, to tell whether every rank comes to its
// end. Times are guesses: what matters is who waits for whom.
//
//   std::vector<PlayedTrace> ranks;                 // of ranks 0, 1, ... in this order
//   ranks.push_back(played_trace(simulated));
//   for (const PlayStop& stop : play({.ranks = ranks, .groups = groups}, PlayedTimes::kRecorded)) ...
//
// The rules, read in its sources (HardwareResource.cc, Workload.cc, Sys.cc) and tried on it:
//   - A node is free when all that it depends on has ended. Of its free nodes a rank starts those with the
//     lowest ids: one op of the host, one computation, and one collective or sent message at a time. Messages
//     are received without limit.
//   - A sent message is under way until it has arrived, whether it is received or not. A collective is under
//     way until the last of its group has joined: the n-th of the group on one rank belongs to the n-th on
//     another. So a rank that joins one collective early keeps back all that it sends.
//   - A collective of which ranks have different ideas (kind, size) does not end, nor does that of one rank,
//     nor an ALL_GATHER of nothing.
//   - A node that is passed over (INVALID; with a roofline, a computation without tensor_size) ends at once,
//     but what waited for it is looked at only when something else of the rank ends.
//   - At the end of a rank its statistics throw where it has ops of the host or nodes that are passed over.
//   That
//     is caught, but not where a message was the last to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/check/group_members.h"
#include "nadi/trace/node_type.h"
#include "nadi/trace/string_table.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

struct SimulatedTrace;

enum class PlayedKind : std::uint8_t { kHost, kComputation, kCollective, kSend, kReceive, kMemory };

struct PlayedCommunication {
  std::uint32_t node = 0;   // into PlayedTrace::ids
  std::uint32_t name = 0;   // into PlayedTrace::texts
  std::uint32_t group = 0;  // the same; "" is the group of all ranks
  CollectiveType collective = CollectiveType::kAllReduce;
  std::int64_t bytes = 0;
  std::int64_t peer = 0;
  std::int64_t tag = 0;
};

// What is needed of a trace: about 50 bytes a node. Node i is the one with the i-th lowest id.
struct PlayedTrace {
  std::size_t file = 0;  // for the caller
  std::int64_t rank = 0;
  std::vector<TraceNodeId> ids;
  std::vector<PlayedKind> kinds;
  std::vector<bool> passed_over;                // whatever the times are
  std::vector<bool> passed_over_with_roofline;  // besides
  std::vector<std::int64_t> recorded_ns;        // how long it takes by its duration
  std::vector<std::int64_t> roofline_ns;        // and by its work, on some device
  std::vector<std::uint32_t> parents;           // how many it waits for
  std::vector<std::uint64_t> children_end;      // its children end there in `children`
  std::vector<std::uint32_t> children;
  std::vector<PlayedCommunication> communication;  // by node
  StringTable texts;
  // Whether each collective and sent message waits for the one before: then times decide nothing.
  bool in_order = true;
  bool any_passed_over_with_roofline = false;
  bool has_odd_nodes = false;  // ops of the host, memory, nodes that are passed over
};

// Plays a trace without circles, missing parents and duplicate ids.
PlayedTrace played_trace(const SimulatedTrace& trace);

enum class PlayedTimes : std::uint8_t { kRecorded, kRoofline };

struct PlayedRun {
  std::span<const PlayedTrace> ranks;  // all of the run, in order
  const GroupMembers* groups = nullptr;
};

// A rank that does not finish.
struct PlayStop {
  std::size_t rank = 0;  // into PlayedRun::ranks
  std::string why;
  std::optional<TraceNodeId> node = {};  // that it is in
  std::string node_name = {};
};

// Empty where all ranks finish, on a fast network and on a slow one.
std::vector<PlayStop> play(const PlayedRun& run, PlayedTimes times);

}  // namespace nadi::inline traces
