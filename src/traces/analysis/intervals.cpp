#include "nadi/analysis/intervals.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace nadi::inline traces {

Intervals merged(Intervals intervals) {
  if (!std::ranges::is_sorted(intervals)) std::ranges::sort(intervals);
  std::size_t kept = 0;
  for (const Interval& next : intervals) {
    if (next.end <= next.start) continue;
    if (kept > 0 && next.start <= intervals[kept - 1].end)
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, next.end);
    else
      intervals[kept++] = next;
  }
  intervals.resize(kept);
  return intervals;
}

Intervals united(const Intervals& a, const Intervals& b) {
  Intervals all;
  all.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(all));
  return merged(std::move(all));
}

Intervals without(const Intervals& a, const Intervals& b) {
  Intervals rest;
  std::size_t j = 0;
  for (Interval left : a) {
    while (j < b.size() && b[j].end <= left.start) ++j;
    for (std::size_t k = j; k < b.size() && b[k].start < left.end; ++k) {
      if (b[k].start > left.start) rest.push_back({left.start, b[k].start});
      left.start = std::max(left.start, b[k].end);
    }
    if (left.start < left.end) rest.push_back(left);
  }
  return rest;
}

Nanoseconds length(const Intervals& set) {
  Nanoseconds sum;
  for (const auto& [start, end] : set) sum += end - start;
  return sum;
}

Nanoseconds overlap(const Intervals& a, const Intervals& b) {
  Nanoseconds sum;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Nanoseconds start = std::max(a[i].start, b[j].start);
    const Nanoseconds end = std::min(a[i].end, b[j].end);
    if (end > start) sum += end - start;
    a[i].end < b[j].end ? ++i : ++j;
  }
  return sum;
}

}  // namespace nadi::inline traces
