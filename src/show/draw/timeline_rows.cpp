#include "nadi/draw/timeline_rows.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace nadi::inline show {

TimelineRows timeline_rows(std::span<const std::int64_t> starts, std::span<const std::int64_t> durations) {
  std::vector<std::uint32_t> sorted(starts.size());
  std::iota(sorted.begin(), sorted.end(), 0u);
  // The longest of events that start together is around the others.
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    if (starts[a] != starts[b]) return starts[a] < starts[b];
    if (durations[a] != durations[b]) return durations[a] > durations[b];
    return a < b;
  };
  if (!std::is_sorted(sorted.begin(), sorted.end(), before)) std::sort(sorted.begin(), sorted.end(), before);

  std::vector<std::int64_t> busy_until;
  std::vector<std::uint8_t> row_of(starts.size());
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t event : sorted) {
    std::size_t row = 0;
    while (row < busy_until.size() && busy_until[row] > starts[event]) ++row;
    if (row == kMostTimelineRows) --row;
    if (row == busy_until.size()) {
      busy_until.push_back(std::numeric_limits<std::int64_t>::min());
      counts.push_back(0);
    }
    busy_until[row] = std::max(busy_until[row], starts[event] + durations[event]);
    row_of[event] = static_cast<std::uint8_t>(row);
    ++counts[row];
  }

  TimelineRows rows;
  rows.ends.resize(counts.size());
  std::inclusive_scan(counts.begin(), counts.end(), rows.ends.begin());
  rows.order.resize(sorted.size());
  std::vector<std::uint32_t> next(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), next.begin(), 0u);
  for (const std::uint32_t event : sorted) rows.order[next[row_of[event]]++] = event;
  return rows;
}

}  // namespace nadi::inline show
