// Where the events of a lane go when some lie within others or overlap: rows one below the other, in each of
// which nothing overlaps.
//
//   const TimelineRows rows = timeline_rows(starts, durations);
//   for (std::size_t row = 0; row < rows.ends.size(); ++row)
//     use(rows.order from the end of the row before to rows.ends[row]);     // events by start
//
// An event is put into the first row that is free: calls within calls get the rows below their callers, as in
// a flame graph. A lane has at most kMostTimelineRows; what overlaps more than that is drawn over others in
// the last row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nadi::inline show {

inline constexpr std::size_t kMostTimelineRows = 64;

struct TimelineRows {
  std::vector<std::uint32_t> order;  // numbers of events, row by row, by start within a row
  std::vector<std::uint32_t> ends;   // by row: where it ends in `order`
};

TimelineRows timeline_rows(std::span<const std::int64_t> starts, std::span<const std::int64_t> durations);

}  // namespace nadi::inline show
