// Why the device was idle between two nodes: each lane for itself, and all lanes together. The causes are
// those of Holistic Trace Analysis, with two more, since our traces know what a node waited for:
//
//   host              the next node's launch call started only after the lane had become idle, or was a
//                     graph's and still at work: the host was late
//   synchronisation   the same, and when the lane became idle the launching thread was in a call that waited
//                     for the device: nothing could be queued
//   kernel            the node was launched in time and the gap is short (below `kernel_gap`), or it came
//                     from the launch of a graph, which the node before came from, too, or which was over
//                     when the lane became idle: what it costs to start one kernel, or graph, after the other
//   dependency        the node waited for one on another lane of the device, which ended after the lane had
//                     become idle
//   other             none of these: the trace does not tell
//
// The first that applies counts for the whole gap. What lies before a lane's first node and after its last is
// no gap. Needs times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

struct IdleOptions {
  // As Holistic Trace Analysis compares: its 30 are called nanoseconds, and compared with microseconds.
  Nanoseconds kernel_gap{30'000};
};

struct IdleCause {
  std::int64_t gaps = 0;
  Nanoseconds time = {};
};

struct LaneIdle {
  std::string lane = {};
  IdleCause host = {}, synchronisation = {}, kernel = {}, dependency = {}, other = {};
  Nanoseconds longest = {};

  Nanoseconds total() const {
    return host.time + synchronisation.time + kernel.time + dependency.time + other.time;
  }
};

struct IdleCauses {
  // While no lane was busy: its total is Breakdown::idle. What started next on any lane decides; a dependency
  // is none of the causes, since no other lane is busy.
  LaneIdle device = {.lane = "device"};
  std::vector<LaneIdle> lanes = {};  // of the device, in their order
};

IdleCauses idle_causes(const Timeline& timeline, const IdleOptions& options = {});

}  // namespace nadi::inline traces
