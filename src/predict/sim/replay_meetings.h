// Who has come to a meeting or to a channel, for both ways of replaying.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/sim/replay_job.h"
#include "nadi/sim/replay_outcome.h"

namespace nadi::inline predict {

struct ReplayArrival {
  std::uint32_t actor = 0;
  std::uint32_t communication = 0;
  std::int64_t time = 0;
};

// Messages: first come, first served, by channel and tag.
class ReplayChannels {
 public:
  // The other end, where it has come already; else this one waits for it.
  std::optional<ReplayArrival> meet(std::uint32_t channel, std::int32_t tag, ReplayRoleKind kind,
                                    const ReplayArrival& arrival);

 private:
  struct Queue {
    bool senders = false;
    std::size_t first = 0;
    std::vector<ReplayArrival> waiting;
  };
  std::unordered_map<std::uint64_t, Queue> queues_;  // looked up only
};

// What the actor was told that the communication takes.
std::int64_t request_time(const ReplayJob& job, const ReplayArrival& arrival);

// And all of them together.
std::int64_t request_time(const ReplayJob& job, std::span<const ReplayArrival> arrivals);

// Throws Error (input) where the members are at different collectives.
void expect_agreement(const ReplayJob& job, std::span<const ReplayArrival> arrivals);

// Where an actor is stuck: the first communication that it came to and that did not end, and who has not come
// to it. Nothing where there is none. `records` are those of an actor.
using RecordsOf = std::function<std::span<const CommunicationRecord>(std::uint32_t actor)>;
std::optional<StuckActor> find_stuck(const ReplayJob& job, std::uint32_t actor, const RecordsOf& records);

}  // namespace nadi::inline predict
