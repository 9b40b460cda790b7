#include "nadi/analysis/idle.h"

#include <algorithm>

namespace nadi {
namespace {

bool waited_for_other_lane(const Timeline& timeline, std::uint32_t row, Nanoseconds idle_since) {
  for (const std::uint32_t parent : timeline.dependencies().parents(row))
    if (is_device(timeline.activity(parent)) && timeline.lane(parent) != timeline.lane(row) &&
        timeline.end(parent) > idle_since)
      return true;
  return false;
}

IdleCause& cause_of(const Timeline& timeline, std::uint32_t row, Nanoseconds idle_since,
                    const IdleOptions& options, LaneIdle& lane) {
  const std::uint32_t launch = timeline.launch(row);
  if (launch != kNoRow && timeline.start(launch) > idle_since) return lane.host;
  if (timeline.start(row) - idle_since < options.kernel_gap) return lane.kernel;
  return waited_for_other_lane(timeline, row, idle_since) ? lane.dependency : lane.other;
}

}  // namespace

std::vector<LaneIdle> idle_causes(const Timeline& timeline, const IdleOptions& options) {
  std::vector<LaneIdle> lanes;
  for (std::uint32_t number = 0; number < timeline.lanes().size(); ++number) {
    if (timeline.lanes()[number].host) continue;
    LaneIdle& lane = lanes.emplace_back();
    lane.lane = timeline.lanes()[number].name;
    const auto rows = timeline.rows_of(number);
    if (rows.empty()) continue;
    Nanoseconds idle_since = timeline.end(rows.front());
    for (const std::uint32_t row : rows.subspan(1)) {
      const Nanoseconds start = timeline.start(row);
      if (start > idle_since) {
        IdleCause& cause = cause_of(timeline, row, idle_since, options, lane);
        ++cause.gaps;
        cause.time += start - idle_since;
        lane.longest = std::max(lane.longest, start - idle_since);
      }
      idle_since = std::max(idle_since, timeline.end(row));
    }
  }
  return lanes;
}

}  // namespace nadi
