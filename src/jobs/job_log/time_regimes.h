// Stretches of a job in which iterations take about the same time: a change of pace parts two of them.
//
//   for (const TimeRegime& regime : time_regimes(points, steady.warm_up)) use(regime.first, regime.median);
//
// Rule. The lines before a place are compared with those after it, an eighth of all on each side, at least
// kLeastRegimeLines. The pace changes where their medians differ by kLeastRegimeChange and by four times what lines
// usually differ from those around them, and nine tenths of each side lie on their side of the middle between the medians.
// The largest change parts the series, and both parts are looked at in the same way. Single slow lines (an evaluation, a
// checkpoint) and noise part nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline jobs {

struct IterationPoint;

struct TimeRegime {
  std::size_t begin = 0, end = 0;    // places of points; those between that do not count are within
  std::int64_t first = 0, last = 0;  // numbers of iterations
  std::int64_t lines = 0;
  Nanoseconds median = {};
};

inline constexpr std::size_t kLeastRegimeLines = 5;
inline constexpr double kLeastRegimeChange = 0.08;  // of the smaller median

// In the order of the points; one where the pace never changes, none where no point counts. `left_out` by point: the
// warm-up. Points without a time do not count either.
std::vector<TimeRegime> time_regimes(const std::vector<IterationPoint>& points,
                                     const std::vector<bool>& left_out);

}  // namespace nadi::inline jobs
