#include "nadi/analysis/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nadi/base/error.h"

namespace nadi::inline traces {
namespace {

double share(Nanoseconds part, Nanoseconds whole) {
  return whole.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

struct Candidate {
  Limit limit;
  Nanoseconds time;
};

// The first of equals.
template <std::size_t N>
Limit longest(const std::array<Candidate, N>& candidates) {
  return std::ranges::max_element(candidates, {}, &Candidate::time)->limit;
}

Limit limit_of(const RunTime& time) {
  if (time.compute + time.compute >= time.span) return Limit::kCompute;
  // Which of the others, each under the name of one of its causes.
  const Limit group = longest(std::array{Candidate{Limit::kUnknown, time.idle()},
                                         Candidate{Limit::kTransfer, time.communication()},
                                         Candidate{Limit::kCopies, time.copies}});
  if (group == Limit::kTransfer)
    return longest(std::array{Candidate{Limit::kTransfer, time.transfer},
                              Candidate{Limit::kLateRank, time.late_rank},
                              Candidate{Limit::kLateMessage, time.late_message}});
  if (group == Limit::kUnknown)
    return longest(std::array{
        Candidate{Limit::kHost, time.late_launch}, Candidate{Limit::kSynchronisation, time.synchronisation},
        Candidate{Limit::kUnknown, time.unknown}, Candidate{Limit::kKernelGaps, time.kernel_gaps}});
  return group;
}

void add(RunTime& time, const RankAnalysis& rank) {
  const Breakdown& b = rank.breakdown;
  const LaneIdle& idle = rank.idle.device;
  ++time.ranks;
  time.span += b.span;
  time.compute += b.compute;
  time.transfer += b.transfer;
  time.late_rank += b.late_rank;
  time.late_message += b.late_message;
  time.copies += b.exposed_memory;
  time.late_launch += idle.host.time;
  time.synchronisation += idle.synchronisation.time;
  time.kernel_gaps += idle.kernel.time;
  time.unknown += idle.other.time + idle.dependency.time;
}

}  // namespace

std::string_view to_string(Limit limit) {
  switch (limit) {
    case Limit::kNothing:
      return "empty";
    case Limit::kNotTimed:
      return "not timed";
    case Limit::kHostOnly:
      return "host only";
    case Limit::kCompute:
      return "compute-bound";
    case Limit::kTransfer:
      return "communication-bound";
    case Limit::kLateRank:
      return "straggler-bound";
    case Limit::kLateMessage:
      return "pipeline-bound";
    case Limit::kCopies:
      return "copy-bound";
    case Limit::kHost:
      return "host-bound";
    case Limit::kSynchronisation:
      return "synchronisation-bound";
    case Limit::kKernelGaps:
      return "kernel-gap-bound";
    case Limit::kUnknown:
      return "idle";
  }
  unreachable();
}

Nanoseconds Verdict::limiting() const {
  switch (limit) {
    case Limit::kNothing:
    case Limit::kNotTimed:
    case Limit::kHostOnly:
      return {};
    case Limit::kCompute:
      return time.compute;
    case Limit::kTransfer:
    case Limit::kLateRank:
    case Limit::kLateMessage:
      return time.communication();
    case Limit::kCopies:
      return time.copies;
    case Limit::kHost:
    case Limit::kSynchronisation:
    case Limit::kKernelGaps:
    case Limit::kUnknown:
      return time.idle();
  }
  unreachable();
}

Nanoseconds Verdict::cause() const {
  switch (limit) {
    case Limit::kNothing:
    case Limit::kNotTimed:
    case Limit::kHostOnly:
      return {};
    case Limit::kCompute:
      return time.compute;
    case Limit::kTransfer:
      return time.transfer;
    case Limit::kLateRank:
      return time.late_rank;
    case Limit::kLateMessage:
      return time.late_message;
    case Limit::kCopies:
      return time.copies;
    case Limit::kHost:
      return time.late_launch;
    case Limit::kSynchronisation:
      return time.synchronisation;
    case Limit::kKernelGaps:
      return time.kernel_gaps;
    case Limit::kUnknown:
      return time.unknown;
  }
  unreachable();
}

double Verdict::limit_share() const {
  return share(limiting(), time.span);
}

double Verdict::cause_share() const {
  return share(cause(), limiting());
}

Verdict judge(const RunAnalysis& run) {
  Verdict verdict;
  bool any = false, timed = false;
  for (const RankAnalysis& rank : run.ranks) {
    any = any || rank.nodes > 0;
    if (rank.clock == TimelineClock::kNone) continue;
    timed = true;
    add(verdict.time, rank);
  }
  if (!any)
    verdict.limit = Limit::kNothing;
  else if (!timed)
    verdict.limit = Limit::kNotTimed;
  else
    verdict.limit = verdict.time.span.count() == 0 ? Limit::kHostOnly : limit_of(verdict.time);
  return verdict;
}

}  // namespace nadi::inline traces
