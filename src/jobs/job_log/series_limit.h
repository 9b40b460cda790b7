// A series of bounded length: when it is full, neighbours are merged in pairs, and from then on as many new
// entries go into one.
//
//   SeriesLimit limit{.most = kMostPoints, .alone = 64};
//   limit.add(points, point, merge);      // merge(into, next)
//
// The first `alone` entries are never merged (iterations of the warm-up).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nadi::inline jobs {

struct SeriesLimit {
  std::size_t most = 0;   // even, above `alone`
  std::size_t alone = 0;  // even
  std::int64_t stride = 1;
  std::int64_t in_last = 0;  // entries that the last one holds

  template <typename Point, typename Merge>
  void add(std::vector<Point>& points, Point point, const Merge& merge) {
    if (points.size() > alone && in_last < stride) {
      merge(points.back(), std::move(point));
      ++in_last;
      return;
    }
    if (points.size() >= most) {
      std::size_t to = alone;
      for (std::size_t from = alone; from + 1 < points.size(); from += 2, ++to) {
        if (to != from) points[to] = std::move(points[from]);
        merge(points[to], std::move(points[from + 1]));
      }
      points.resize(to);
      stride *= 2;
    }
    points.push_back(std::move(point));
    in_last = 1;
  }
};

}  // namespace nadi::inline jobs
