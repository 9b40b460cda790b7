#include "nadi/chakra/whole_microseconds.h"

#include "nadi/trace/common_attributes.h"
#include "nadi/trace/exact_time.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {
namespace {

constexpr std::int64_t kHalf = kNanosecondsPerMicrosecond / 2;

enum Lane : std::size_t { kHost, kComputation, kCommunication };

Lane lane_of(const TraceNode& node) {
  const TraceAttribute* on_cpu = node.attributes.find(attribute_name::kIsCpuOp);
  if (on_cpu != nullptr && on_cpu->integer().value_or(0) != 0) return kHost;
  return node.type == NodeType::kComp ? kComputation : kCommunication;
}

// Leaves in `owed` what is lost by it.
std::int64_t rounded(Nanoseconds time, std::int64_t& owed) {
  const std::int64_t below = time.count() / kNanosecondsPerMicrosecond;
  const std::int64_t rest = time.count() % kNanosecondsPerMicrosecond;
  // A microsecond more than the largest is a time that no reader takes.
  if (rest == 0 || below == static_cast<std::int64_t>(kLargestMicros)) return below;
  owed += rest;
  if (owed < kHalf) return below;
  owed -= kNanosecondsPerMicrosecond;
  return below + 1;
}

}  // namespace

std::int64_t WholeMicroseconds::of(const TraceNode& node) {
  // Nothing is lost, so that the lane need not be found: so it is with all nodes of a trace without times.
  if (node.duration.count() % kNanosecondsPerMicrosecond == 0)
    return node.duration.count() / kNanosecondsPerMicrosecond;
  return rounded(node.duration, owed_[lane_of(node)]);
}

std::int64_t nearest_microsecond(Nanoseconds time) {
  std::int64_t owed = 0;
  return rounded(time, owed);
}

}  // namespace nadi::inline traces
