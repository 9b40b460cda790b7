#include "nadi/analysis/breakdown.h"

#include <algorithm>

namespace nadi::inline traces {
namespace {

ActivitySums& sums_of(Breakdown& breakdown, Activity activity) {
  switch (activity) {
    case Activity::kCompute:
      return breakdown.compute_sum;
    case Activity::kCommunication:
      return breakdown.communication_sum;
    case Activity::kMemory:
      return breakdown.memory_sum;
    case Activity::kNone:
    case Activity::kHost:
      break;
  }
  return breakdown.host_sum;
}

LaneBreakdown lane_breakdown(const Timeline& timeline, std::uint32_t lane) {
  LaneBreakdown result{.lane = timeline.lanes()[lane].name};
  Nanoseconds until;
  for (const std::uint32_t row : timeline.rows_of(lane)) {
    const Nanoseconds start = timeline.start(row), end = timeline.end(row);
    const Nanoseconds from = result.nodes == 0 ? start : std::max(start, until);
    if (end > from) result.busy += end - from;
    until = result.nodes == 0 ? end : std::max(until, end);
    ++result.nodes;
    const Activity activity = timeline.activity(row);
    (activity == Activity::kCompute         ? result.compute
     : activity == Activity::kCommunication ? result.communication
                                            : result.memory) += timeline.duration(row);
  }
  return result;
}

}  // namespace

Intervals intervals_of(const Timeline& timeline, Activity activity) {
  Intervals intervals;
  for (std::uint32_t lane = 0; lane < timeline.lanes().size(); ++lane) {
    if (timeline.lanes()[lane].host) continue;
    for (const std::uint32_t row : timeline.rows_of(lane))
      if (timeline.activity(row) == activity) intervals.push_back({timeline.start(row), timeline.end(row)});
  }
  return merged(std::move(intervals));
}

Breakdown break_down(const Timeline& timeline) {
  Breakdown result;
  std::optional<Nanoseconds> first, last;
  for (std::uint32_t row = 0; row < timeline.size(); ++row) {
    const Activity activity = timeline.activity(row);
    if (activity == Activity::kNone) continue;
    ActivitySums& sums = sums_of(result, activity);
    ++sums.nodes;
    sums.time += timeline.duration(row);
    if (!is_device(activity) || !timeline.has_time(row)) continue;
    first = std::min(first.value_or(timeline.start(row)), timeline.start(row));
    last = std::max(last.value_or(timeline.end(row)), timeline.end(row));
  }
  if (!first) return result;
  result.start = *first;
  result.span = *last - *first;
  const Intervals computing = intervals_of(timeline, Activity::kCompute);
  const Intervals communicating = intervals_of(timeline, Activity::kCommunication);
  const Intervals moving = intervals_of(timeline, Activity::kMemory);
  result.compute = length(computing);
  result.communication = length(communicating);
  result.memory = length(moving);
  result.exposed_communication = result.communication - overlap(communicating, computing);
  result.transfer = result.exposed_communication;
  const Intervals both = united(computing, communicating);
  result.exposed_memory = result.memory - overlap(moving, both);
  result.idle = result.span - length(both) - result.exposed_memory;
  for (std::uint32_t lane = 0; lane < timeline.lanes().size(); ++lane)
    if (!timeline.lanes()[lane].host) result.lanes.push_back(lane_breakdown(timeline, lane));
  return result;
}

}  // namespace nadi::inline traces
