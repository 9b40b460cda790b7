#include "nadi/analysis/idle.h"

#include <algorithm>

namespace nadi::inline traces {
namespace {

// Calls of each thread in which the host waited for the device, in the order of their starts.
class SynchronisingCalls {
 public:
  explicit SynchronisingCalls(const Timeline& timeline)
      : timeline_(timeline), by_lane_(timeline.lanes().size()) {
    for (std::uint32_t lane = 0; lane < timeline.lanes().size(); ++lane) {
      if (!timeline.lanes()[lane].host) continue;
      for (const std::uint32_t row : timeline.rows_of(lane))
        if (waits_for_device(row)) by_lane_[lane].push_back(row);
    }
  }

  // Whether the thread that launches with `launch` was in such a call at that moment, or has left one just
  // then.
  bool held_up(std::uint32_t launch, Nanoseconds moment) const {
    const std::vector<std::uint32_t>& calls = by_lane_[timeline_.lane(launch)];
    const auto after = std::ranges::upper_bound(calls, moment, {},
                                                [this](std::uint32_t row) { return timeline_.start(row); });
    return after != calls.begin() && timeline_.inclusive_end(*(after - 1)) >= moment;
  }

 private:
  bool waits_for_device(std::uint32_t row) const {
    return std::ranges::any_of(timeline_.dependencies().parents(row), [&](std::uint32_t parent) {
      return is_device(timeline_.activity(parent)) && timeline_.end(parent) > timeline_.start(row);
    });
  }

  const Timeline& timeline_;
  std::vector<std::vector<std::uint32_t>> by_lane_;
};

class IdleSearch {
 public:
  IdleSearch(const Timeline& timeline, const IdleOptions& options)
      : timeline_(timeline), options_(options), synchronising_(timeline), launched_(timeline.size(), 0) {
    for (std::uint32_t row = 0; row < timeline.size(); ++row)
      if (const std::uint32_t launch = timeline.launch(row); launch != kNoRow) ++launched_[launch];
  }

  IdleCauses run() {
    IdleCauses result;
    std::vector<std::uint32_t> all;
    for (std::uint32_t number = 0; number < timeline_.lanes().size(); ++number) {
      if (timeline_.lanes()[number].host) continue;
      LaneIdle& lane = result.lanes.emplace_back();
      lane.lane = timeline_.lanes()[number].name;
      const auto rows = timeline_.rows_of(number);
      add_gaps(lane, rows);
      all.insert(all.end(), rows.begin(), rows.end());
    }
    std::ranges::sort(all, {}, [this](std::uint32_t row) { return std::pair(timeline_.start(row), row); });
    add_gaps(result.device, all);
    return result;
  }

 private:
  void add_gaps(LaneIdle& lane, std::span<const std::uint32_t> rows) const {
    if (rows.empty()) return;
    Nanoseconds idle_since = timeline_.end(rows.front());
    std::uint32_t last = rows.front();  // to end
    for (const std::uint32_t row : rows.subspan(1)) {
      const Nanoseconds start = timeline_.start(row);
      if (start > idle_since) {
        IdleCause& cause = cause_of(row, last, idle_since, lane);
        ++cause.gaps;
        cause.time += start - idle_since;
        lane.longest = std::max(lane.longest, start - idle_since);
      }
      if (timeline_.end(row) >= idle_since) last = row;
      idle_since = std::max(idle_since, timeline_.end(row));
    }
  }

  IdleCause& cause_of(std::uint32_t row, std::uint32_t before, Nanoseconds idle_since, LaneIdle& lane) const {
    const std::uint32_t launch = timeline_.launch(row);
    if (launch != kNoRow && timeline_.start(launch) > idle_since)
      return synchronising_.held_up(launch, idle_since) ? lane.synchronisation : lane.host;
    // Nobody knows whether a node without a launch was launched in time.
    if (launch != kNoRow && timeline_.start(row) - idle_since < options_.kernel_gap) return lane.kernel;
    if (waited_for_other_lane(row, idle_since)) return lane.dependency;
    if (launch == kNoRow) return lane.other;
    if (launch == timeline_.launch(before)) return lane.kernel;
    const bool is_graph = launched_[launch] > 1;
    if (!is_graph) return lane.other;
    return timeline_.inclusive_end(launch) > idle_since ? lane.host : lane.kernel;
  }

  bool waited_for_other_lane(std::uint32_t row, Nanoseconds idle_since) const {
    return std::ranges::any_of(timeline_.dependencies().parents(row), [&](std::uint32_t parent) {
      return is_device(timeline_.activity(parent)) && timeline_.lane(parent) != timeline_.lane(row) &&
             timeline_.end(parent) > idle_since;
    });
  }

  const Timeline& timeline_;
  const IdleOptions& options_;
  SynchronisingCalls synchronising_;
  std::vector<std::uint32_t> launched_;  // by row: how many nodes it launched
};

}  // namespace

IdleCauses idle_causes(const Timeline& timeline, const IdleOptions& options) {
  return IdleSearch(timeline, options).run();
}

}  // namespace nadi::inline traces
