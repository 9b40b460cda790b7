// What a replay runs, whether it came from programs or from traces: programs as flat arrays, actors (ranks,
// or one rank for a class of them) that run them, and who meets whom.
//
// A program is shared by all actors that run it; an actor adds how long its ops and its communication take.
// Nodes are in an order in which each comes after those it waits for. A node with a stream starts when the
// stream is free, in the order of nodes, or where a program is not `in_order` in the order in which they
// become ready, then of nodes. Communication has, in its program, a role: the group or the peer as
// the program names it. An actor binds roles to meeting places (groups) and channels (one direction from an
// actor to another).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/cluster/measured_collectives.h"
#include "nadi/trace/node_type.h"

namespace nadi::inline predict {

inline constexpr std::uint16_t kNoStream = 0xFFFF;  // held back by its dependencies only
inline constexpr std::uint32_t kNoCommunication = 0xFFFF'FFFF;

enum class ReplayRoleKind : std::uint8_t { kCollective, kSend, kReceive };

struct ReplayCommunication {
  std::uint32_t node = 0;
  std::uint32_t role = 0;
  std::uint32_t request = 0;   // position in ReplayProgram::requests
  std::uint32_t share = 0;     // position in ReplayProgram::shares
  std::uint32_t sequence = 0;  // of a collective: how many of its role come before it
  std::int32_t tag = 0;        // of a message
  // Messages with the same number are posted together on a stream that they stop: see ReplayNode::stream.
  std::uint32_t exchange = 0;
};

// What is asked of the network: the same for many communications.
struct ReplayRequest {
  std::uint32_t role = 0;
  CollectiveType type{};
  Bytes size = {};
  bool operator==(const ReplayRequest&) const = default;
};

struct ReplayNode {
  std::uint32_t parents_end = 0;  // in ReplayProgram::parents; begins where those of the node before end
  std::uint32_t op = 0;           // of computation: position in ReplayActor's durations
  std::uint32_t communication = kNoCommunication;
  std::uint16_t stream = 0;
  std::uint8_t phase = 0;
};

struct ReplayProgram {
  std::vector<ReplayNode> nodes;
  std::vector<std::uint32_t> parents;  // earlier nodes
  std::vector<ReplayCommunication> communications;
  std::vector<ReplayRequest> requests;
  std::vector<ReplayRoleKind> roles;
  std::uint16_t streams = 1;
  std::vector<char> host_stream = {};  // by stream: it is a host's thread; empty means none is
  bool in_order = true;
  // Where a stream is not in order: of the nodes that are ready the first of the program, not of time.
  bool first_of_program = false;
  bool messages_stop_host = false;  // the host goes on when messages have arrived
  std::uint32_t ops = 0;
  std::uint32_t shares = 0;
};

// How long the ops of a program take on a device, by op, and how long its host needs to launch them.
struct ReplayDurations {
  std::vector<Nanoseconds> ops = {};
  std::vector<Nanoseconds> issues = {};  // empty means launching takes no time
  Nanoseconds communication_issue = {};
};

struct ReplayActor {
  std::uint32_t program = 0;
  std::uint32_t durations = 0;                  // position in ReplayJob::durations
  std::vector<std::uint32_t> bindings = {};     // by role: position in ReplayJob::meetings or ::channels
  std::vector<Nanoseconds> request_times = {};  // by request
  std::int32_t rank = 0;                        // for messages, and as the site of random numbers
  // The part of its speed that computation loses while communication of the actor is under way.
  double compute_share = 0;
  double busy_slowdown =
      1;  // how many times as long communication takes that starts while the actor computes
  // How long collectives wait for ranks that came apart since the last one; nullptr means not at all.
  const MeasuredCollectives* skew = nullptr;
};

struct ReplayMeetingPlace {
  std::vector<std::uint32_t> actors = {};  // that come to each of its meetings
  std::uint32_t group = 0;                 // one of the groups that it stands for
};

struct ReplayChannel {
  std::uint32_t from = 0, to = 0;  // actors
};

struct ReplayJob {
  std::vector<ReplayProgram> programs;
  std::vector<ReplayDurations> durations;
  std::vector<ReplayActor> actors;
  std::vector<ReplayMeetingPlace> meetings;
  std::vector<ReplayChannel> channels;
  // What a collective takes of what its members were told: the longest, or the shortest.
  bool shortest = false;
  // A message is on its way when its sender has come, whether or not the receiver has. Not on a network whose
  // flows share links, and only where programs are not in order.
  bool sends_at_once = false;
  double jitter = 0;
  std::uint64_t seed = 0;
};

}  // namespace nadi::inline predict
