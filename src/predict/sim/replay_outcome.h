// What a replay finds out, and how idle time of computation is explained.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/op.h"
#include "nadi/sim/replay_job.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

struct ReplayShare {
  Nanoseconds busy = {}, exposed = {};
};

struct ActorOutcome {
  Nanoseconds end = {};
  std::array<Nanoseconds, kPhaseCount> compute = {};
  Nanoseconds host = {};
  Nanoseconds bubble = {};
  std::vector<ReplayShare> shares = {};  // by ReplayCommunication::share
  std::vector<NodeTime> nodes = {};      // where they are kept
};

// An actor that did not get to its end, or whose communication never ended.
struct StuckActor {
  std::uint32_t actor = 0;
  std::uint32_t node = 0;                      // the communication that it waits for
  std::vector<std::uint32_t> for_actors = {};  // who has not come to it
};

struct ReplayOutcome {
  Nanoseconds end = {};
  std::vector<ActorOutcome> actors = {};
  std::vector<StuckActor> stuck = {};  // empty means all ran to the end
};

struct ReplayOptions {
  bool keep_times = true;
};

inline constexpr std::int64_t kUnknownTime = std::numeric_limits<std::int64_t>::max();

// Communication as one actor sees it. Times are bare counts, as everywhere inside of a replay.
struct CommunicationRecord {
  std::int64_t arrival = kUnknownTime;  // when this actor came to it
  std::int64_t start = 0;
  std::int64_t end = kUnknownTime;
  std::uint32_t cause = kNoCommunication;  // whose end was the arrival
};

// The communication of an actor that ended last; of several the last in the program.
struct LatestCommunication {
  std::int64_t end = 0;
  std::uint32_t number = kNoCommunication;

  void take(std::int64_t ended, std::uint32_t communication) {
    if (number != kNoCommunication && (ended < end || (ended == end && communication < number))) return;
    end = ended;
    number = communication;
  }
};

// Computation waited from `from` to `until`, in the end for the communication `cause`. Backwards along what
// that had waited for: time in which communication ran is exposed, time in which it waited for its partners
// is bubble, and so is the rest.
inline void explain_gap(const ReplayProgram& program, std::span<const CommunicationRecord> communications,
                        ActorOutcome& out, std::int64_t from, std::int64_t until, std::uint32_t cause) {
  while (until > from && cause != kNoCommunication) {
    const CommunicationRecord& record = communications[cause];
    const std::int64_t end = std::max(from, std::min(record.end, until));
    const std::int64_t start = std::max(from, std::min(record.start, end));
    const std::int64_t arrival = std::max(from, std::min(record.arrival, start));
    out.bubble += Nanoseconds{until - end} + Nanoseconds{start - arrival};
    out.shares[program.communications[cause].share].exposed += Nanoseconds{end - start};
    until = arrival;
    cause = record.cause;
  }
  if (until > from) out.bubble += Nanoseconds{until - from};
}

}  // namespace nadi::inline predict
