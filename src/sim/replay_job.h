// What a replay runs, whether it came from programs or from traces: programs as flat arrays, actors (ranks,
// or one rank for a class of them) that run them, and who meets whom.
//
// A program is shared by all actors that run it; an actor adds how long its ops and its communication take.
// Nodes are in an order in which each comes after those it waits for. A node with a stream starts after the
// one before it on that stream has ended. Communication has, in its program, a role: the group or the peer as
// the program names it. An actor binds roles to meeting places (groups) and channels (one direction from an
// actor to another).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/trace/node_type.h"

namespace nadi {

inline constexpr std::uint16_t kNoStream = 0xFFFF;  // held back by its dependencies only
inline constexpr std::uint32_t kNoCommunication = 0xFFFF'FFFF;

enum class ReplayRoleKind : std::uint8_t { kCollective, kSend, kReceive };

struct ReplayCommunication {
  std::uint32_t node = 0;
  std::uint32_t role = 0;
  std::uint32_t request = 0;  // position in ReplayProgram::requests
  std::uint32_t share = 0;    // position in ReplayProgram::shares
  std::int32_t tag = 0;       // of a message
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
  std::uint16_t streams = 1;  // 0 computes
  std::uint32_t ops = 0;
  std::uint32_t shares = 0;
};

struct ReplayBinding {
  std::uint32_t meeting = 0;  // position in ReplayJob::meetings or number of the channel
};

struct ReplayActor {
  std::uint32_t program = 0;
  std::uint32_t durations = 0;             // position in ReplayJob::durations
  std::vector<ReplayBinding> bindings;     // by role
  std::vector<Nanoseconds> request_times;  // by request
  std::int32_t rank = 0;                   // for messages, and as the site of random numbers
};

struct ReplayJob {
  std::vector<ReplayProgram> programs;
  std::vector<std::vector<Nanoseconds>> durations;  // by op of a program
  std::vector<ReplayActor> actors;
  std::vector<std::uint32_t> meeting_members;  // by meeting place: how many actors come to it
  std::uint32_t channels = 0;
  double jitter = 0;
  std::uint64_t seed = 0;
};

}  // namespace nadi
