// The time of an iteration once a job has settled, told apart from its warm-up.
//
//   const SteadyTime time = steady_time(iterations_of(log));
//   time.points[0].warm_up                     // 10: 4.54 s
//   time.mean, time.deviation, time.lines      // 1.40 s +- 0.01 s over 9 lines
//
// Rule. The reference is the median of the lines in the second half of the job. Lines at the beginning of a
// start of the job (its first, and each one after a requeue) belong to the warm-up while their time lies
// above the reference by more than a tenth and by more than six times the median deviation of the second
// half; at most half of the lines of a start do, one of one. Slow lines later on are no warm-up: they count,
// and show in the spread.
//
// Where the pace changed for good (time_regimes.h), the lines since then are what is steady: a mean over two regimes
// would be the time of no iteration. The earlier ones are in `regimes`.
//
// A line is the mean over the iterations since the line before, so the spread is that of such means. Of
// points that stand for several lines (node_log.h) the sums, the least and the greatest time are exact;
// deviation and quantiles take their means, and `merged` says so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/job_log/time_regimes.h"

namespace nadi::inline jobs {

struct IterationPoint;

struct SteadyTime {
  std::vector<bool> warm_up = {};  // by point; false for points without a time
  std::int64_t warm_up_lines = 0;
  std::optional<Nanoseconds> warm_up_mean = {};
  std::vector<TimeRegime> regimes = {};  // what is below is of the last

  // Over the lines that are no warm-up and have a time; nothing below where there are none.
  std::int64_t lines = 0;
  Nanoseconds mean = {}, median = {}, deviation = {};  // standard deviation
  Nanoseconds least = {}, most = {};
  Nanoseconds tenth = {}, ninetieth = {};  // quantiles
  std::int64_t first = 0, last = 0;        // numbers of iterations
  bool merged = false;
  // One line alone: whether it is warm-up cannot be told.
  bool unsure = false;

  // Whether what is steady rests on a point, by its place.
  bool counts(std::size_t point) const {
    return !warm_up[point] && !regimes.empty() && point >= regimes.back().begin;
  }
};

SteadyTime steady_time(const std::vector<IterationPoint>& points);

}  // namespace nadi::inline jobs
