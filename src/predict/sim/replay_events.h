// Runs any job with an event queue, one node at a time: where streams take whatever is ready first, where
// communication slows computation down, and where its time depends on what else is under way (ReplayFlows).
//
//   const ReplayOutcome outcome = replay_events(job, {.keep_times = true}, nullptr);
//
// At each moment, first everything ends that does, then what can start does: actors in their order, nodes
// without a stream first, then streams in their order. On jobs that replay_core.h runs, the result is the
// same: a test compares the two on random programs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/sim/replay_job.h"
#include "nadi/sim/replay_meetings.h"
#include "nadi/sim/replay_outcome.h"

namespace nadi::inline predict {

// A network in which what is under way shares links. Flows are numbered from 0 in the order of their starts.
class ReplayFlows {
 public:
  struct End {
    std::uint32_t flow = 0;
    Nanoseconds at = {};
  };
  virtual ~ReplayFlows() = default;
  // All members of a collective have come, or the sender and the receiver of a message, in this order.
  virtual std::uint32_t start(Nanoseconds now, std::span<const ReplayArrival> arrivals) = 0;
  virtual std::optional<Nanoseconds> next_event() const = 0;
  virtual void advance(Nanoseconds to, std::vector<End>& done) = 0;
};

// `flows` = nullptr: communication takes what the actors were told.
ReplayOutcome replay_events(const ReplayJob& job, const ReplayOptions& options, ReplayFlows* flows);

}  // namespace nadi::inline predict
