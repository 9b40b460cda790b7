// How the device of a rank spent its time: computing, communicating, copying memory, or idle.
//
//   const Breakdown breakdown = break_down(timeline);
//   breakdown.compute + breakdown.exposed_communication + breakdown.exposed_memory + breakdown.idle
//       == breakdown.span
//   breakdown.transfer + breakdown.late_rank + breakdown.late_message == breakdown.exposed_communication
//
// The span is from the first start to the last end of the device's nodes. A moment counts once: as
// computation when anything computed, else as communication when anything communicated, else as memory, else
// as idle. What is given without "exposed" may overlap. Needs times (Timeline::clock()).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/analysis/intervals.h"
#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

// While at least one node of that activity lasted.
Intervals intervals_of(const Timeline& timeline, Activity activity);

struct ActivitySums {
  std::int64_t nodes = 0;
  Nanoseconds time = {};  // of each node, summed: nodes at the same time count twice
};

struct LaneBreakdown {
  std::string lane = {};
  std::int64_t nodes = 0;
  Nanoseconds busy = {};                                      // while at least one of its nodes lasted
  Nanoseconds compute = {}, communication = {}, memory = {};  // summed
};

struct Breakdown {
  Nanoseconds start = {};  // of the first node
  Nanoseconds span = {};
  Nanoseconds compute = {};        // while something computed
  Nanoseconds communication = {};  // while something communicated, and so on
  Nanoseconds memory = {};
  Nanoseconds exposed_communication = {};
  // Parts of exposed_communication. break_down() takes all of it for transfer: waiting is known once the
  // calls of all ranks are matched (exposed_waits()).
  Nanoseconds transfer = {};      // while data moved
  Nanoseconds late_rank = {};     // while nothing moved, and a collective waited for a rank that came late
  Nanoseconds late_message = {};  // while a message waited for its other end, as in a pipeline's bubble
  Nanoseconds exposed_memory = {};
  Nanoseconds idle = {};
  ActivitySums compute_sum = {}, communication_sum = {}, memory_sum = {};
  // The host's nodes have exclusive durations and no interval of their own: only their sum is known.
  ActivitySums host_sum = {};
  std::vector<LaneBreakdown> lanes = {};  // of the device, in the order of first appearance

  Nanoseconds hidden_communication() const { return communication - exposed_communication; }
};

Breakdown break_down(const Timeline& timeline);

}  // namespace nadi::inline traces
