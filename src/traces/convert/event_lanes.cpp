#include "nadi/convert/event_lanes.h"

#include <algorithm>

namespace nadi::inline traces {

namespace {

// Merges neighbouring runs until one is left.
template <typename Before>
void merge_runs(std::span<std::uint32_t> rows, const Before& before) {
  std::vector<std::size_t> ends;  // of runs
  for (std::size_t at = 1; at < rows.size(); ++at)
    if (before(rows[at], rows[at - 1])) ends.push_back(at);
  if (ends.empty()) return;
  ends.push_back(rows.size());
  while (ends.size() > 1) {
    std::size_t kept = 0;
    std::size_t begin = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      const std::size_t last = std::min(run + 1, ends.size() - 1);
      if (last > run)
        std::inplace_merge(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                           rows.begin() + static_cast<std::ptrdiff_t>(ends[run]),
                           rows.begin() + static_cast<std::ptrdiff_t>(ends[last]), before);
      begin = ends[last];
      ends[kept++] = ends[last];
    }
    ends.resize(kept);
  }
}

}  // namespace

EventLanes::EventLanes(const KinetoTrace& kineto, const std::vector<bool>& wanted) {
  begins_.resize(kineto.lanes.size() + 1);
  const std::size_t events = kineto.events.size();
  for (std::size_t row = 0; row < events; ++row)
    if (wanted[row]) ++begins_[kineto.lane[row] + 1];
  for (std::size_t lane = 0; lane < kineto.lanes.size(); ++lane) begins_[lane + 1] += begins_[lane];
  rows_.resize(begins_.back());
  std::vector<std::size_t> next = begins_;
  for (std::size_t row = 0; row < events; ++row)
    if (wanted[row]) rows_[next[kineto.lane[row]]++] = static_cast<std::uint32_t>(row);

  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const Nanoseconds start_a = kineto.events.start(a);
    const Nanoseconds start_b = kineto.events.start(b);
    if (start_a != start_b) return start_a < start_b;
    const Nanoseconds duration_a = kineto.events.duration(a);
    const Nanoseconds duration_b = kineto.events.duration(b);
    return duration_a != duration_b ? duration_a > duration_b : a < b;
  };
  for (std::size_t lane = 0; lane < kineto.lanes.size(); ++lane)
    merge_runs({rows_.data() + begins_[lane], begins_[lane + 1] - begins_[lane]}, before);
}

}  // namespace nadi::inline traces
