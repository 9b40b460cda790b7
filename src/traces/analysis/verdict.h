// What limits a step, and by how much: the summary of an analysis.
//
//   finish(run);
//   const Verdict verdict = judge(run);
//   to_string(verdict.limit)                         // "host-bound"
//   verdict.time.idle, verdict.limit_share()         // 0.91: of the time
//   verdict.cause_share()                            // 0.998: of that
//
// The time of all ranks is split as the breakdown does: computation, communication that nothing hides, copies
// that nothing hides, idle. Half of the time or more of computation is compute-bound; otherwise the largest
// of the other three limits the step. Communication and idle time have causes (meetings.h, idle.h), and the
// largest of these names the limit.
#pragma once

#include <cstdint>
#include <string_view>

#include "nadi/analysis/run_analysis.h"

namespace nadi::inline traces {

enum class Limit : std::uint8_t {
  kNothing,          // the trace has no nodes
  kNotTimed,         // it has no times
  kHostOnly,         // it has ops of the host only: nothing was given to a device
  kCompute,          // the device computes
  kTransfer,         // data is on its way
  kLateRank,         // collectives wait for a rank that comes late
  kLateMessage,      // messages wait for their other end: the bubble of a pipeline
  kCopies,           // memory is moved
  kHost,             // idle: launches come too late
  kSynchronisation,  // idle: the host waits for the device before it launches more
  kKernelGaps,       // idle: between kernels that were launched in time
  kUnknown,          // idle, and the trace does not tell why
};
// "host-bound", "communication-bound", ...
std::string_view to_string(Limit limit);

// Time of all ranks, summed. compute + transfer + late_rank + late_message + copies + idle() == span.
struct RunTime {
  std::int64_t ranks = 0;  // that have times
  Nanoseconds span = {};
  Nanoseconds compute = {};
  Nanoseconds transfer = {}, late_rank = {}, late_message = {};
  Nanoseconds copies = {};
  Nanoseconds late_launch = {}, synchronisation = {}, kernel_gaps = {}, unknown = {};

  Nanoseconds communication() const { return transfer + late_rank + late_message; }
  Nanoseconds idle() const { return late_launch + synchronisation + kernel_gaps + unknown; }
};

struct Verdict {
  Limit limit = Limit::kNothing;
  RunTime time = {};

  // What limits the step (computation, communication, copies or idle time), and the part of it that the limit
  // is named for; both 0 where nothing was timed.
  Nanoseconds limiting() const;
  Nanoseconds cause() const;
  double limit_share() const;  // of the span
  double cause_share() const;  // of limiting()
};

// After finish(). Ranks without times are left out unless none has any.
Verdict judge(const RunAnalysis& run);

}  // namespace nadi::inline traces
