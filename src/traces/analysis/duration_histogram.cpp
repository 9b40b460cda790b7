#include "nadi/analysis/duration_histogram.h"

#include <algorithm>
#include <limits>

namespace nadi::inline traces {
namespace {

// 0, 1, 2, 5, 10, 20, 50, ... as far as 64 bits go.
const std::vector<std::int64_t>& bin_begins() {
  static const std::vector<std::int64_t> begins = [] {
    std::vector<std::int64_t> list{0};
    for (std::int64_t power = 1;; power *= 10) {
      for (const std::int64_t factor : {1, 2, 5}) {
        if (power > std::numeric_limits<std::int64_t>::max() / factor) return list;
        list.push_back(power * factor);
      }
      if (power > std::numeric_limits<std::int64_t>::max() / 10) return list;
    }
  }();
  return begins;
}

}  // namespace

void DurationHistogram::add(const Timeline& timeline) {
  const std::vector<std::int64_t>& begins = bin_begins();
  for (std::uint32_t row = 0; row < timeline.size(); ++row) {
    const Activity activity = timeline.activity(row);
    if (!is_device(activity) || !timeline.has_time(row)) continue;
    const Nanoseconds duration = timeline.duration(row);
    const auto above = std::ranges::upper_bound(begins, std::max<std::int64_t>(duration.count(), 0));
    Sum& sum = sums_[{activity, *std::prev(above)}];
    ++sum.nodes;
    sum.time += duration;
  }
}

std::vector<DurationBin> DurationHistogram::bins() const {
  std::vector<DurationBin> bins;
  for (const auto& [key, sum] : sums_) {
    const auto next = std::ranges::upper_bound(bin_begins(), key.second);
    bins.push_back(
        {.activity = key.first,
         .from = Nanoseconds{key.second},
         .to = Nanoseconds{next == bin_begins().end() ? std::numeric_limits<std::int64_t>::max() : *next},
         .nodes = sum.nodes,
         .time = sum.time});
  }
  return bins;
}

}  // namespace nadi::inline traces
