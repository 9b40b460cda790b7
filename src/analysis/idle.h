// Why a lane of the device was idle between two of its nodes. The causes are those of Holistic Trace
// Analysis, with one more, since our traces know what a node waited for:
//
//   host         the next node's launch call started only after the lane had become idle: the host was late
//   kernel       the node was launched in time and the gap is short (below `kernel_gap`): what it costs to
//                start one kernel after the other
//   dependency   the node waited for one on another lane of the device, which ended after the lane had become
//                idle
//   other        none of these: the trace does not tell
//
// The first that applies counts for the whole gap. What lies before a lane's first node and after its last is
// no gap. Needs times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/analysis/timeline.h"

namespace nadi {

struct IdleOptions {
  Nanoseconds kernel_gap{30};  // the default of Holistic Trace Analysis
};

struct IdleCause {
  std::int64_t gaps = 0;
  Nanoseconds time = {};
};

struct LaneIdle {
  std::string lane = {};
  IdleCause host = {}, kernel = {}, dependency = {}, other = {};
  Nanoseconds longest = {};

  Nanoseconds total() const { return host.time + kernel.time + dependency.time + other.time; }
};

// Lanes of the device, in their order.
std::vector<LaneIdle> idle_causes(const Timeline& timeline, const IdleOptions& options = {});

}  // namespace nadi
