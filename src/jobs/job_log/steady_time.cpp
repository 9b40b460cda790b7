#include "nadi/job_log/steady_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "nadi/job_log/node_log.h"

namespace nadi::inline jobs {
namespace {

constexpr double kWarmUpShare = 0.1;     // above the reference
constexpr double kWarmUpDeviations = 6;  // median deviations above the reference

// A time and how many lines have it.
struct WeightedTime {
  double time = 0;
  std::int64_t lines = 0;
};

// The least time that is reached by a share of the lines.
double quantile(std::vector<WeightedTime> times, double share) {
  std::ranges::sort(times, {}, &WeightedTime::time);
  std::int64_t all = 0;
  for (const WeightedTime& each : times) all += each.lines;
  const double wanted = share * static_cast<double>(all);
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    seen += times[i].lines;
    // Exactly between two lines: their mean.
    if (static_cast<double>(seen) == wanted && i + 1 < times.size())
      return (times[i].time + times[i + 1].time) / 2;
    if (static_cast<double>(seen) > wanted) return times[i].time;
  }
  return times.empty() ? 0 : times.back().time;
}

double mean_of(const IterationPoint& point) {
  return static_cast<double>(point.total.count()) / static_cast<double>(point.timed_lines);
}

Nanoseconds rounded(double nanoseconds) {
  return Nanoseconds{std::llround(nanoseconds)};
}

// Above this time a line at the beginning is warm-up.
double warm_up_limit(const std::vector<IterationPoint>& points) {
  std::int64_t all = 0;
  for (const IterationPoint& point : points) all += point.timed_lines;
  std::vector<WeightedTime> second_half;
  std::int64_t seen = 0;
  for (const IterationPoint& point : points) {
    if (point.timed_lines > 0 && seen >= all / 2) second_half.push_back({mean_of(point), point.timed_lines});
    seen += point.timed_lines;
  }
  // One point may stand for more than half of all lines.
  if (second_half.empty() && all > 0)
    for (auto point = points.rbegin(); point != points.rend() && second_half.empty(); ++point)
      if (point->timed_lines > 0) second_half.push_back({mean_of(*point), point->timed_lines});
  const double reference = quantile(second_half, 0.5);
  std::vector<WeightedTime> deviations = second_half;
  for (WeightedTime& each : deviations) each.time = std::abs(each.time - reference);
  return reference + std::max(kWarmUpShare * reference, kWarmUpDeviations * quantile(deviations, 0.5));
}

}  // namespace

SteadyTime steady_time(const std::vector<IterationPoint>& points) {
  SteadyTime time{.warm_up = std::vector<bool>(points.size(), false)};
  std::int64_t timed = 0;
  for (const IterationPoint& point : points) timed += point.timed_lines;
  if (timed == 0) return time;
  time.unsure = timed == 1;
  const double limit = warm_up_limit(points);
  double warm_up_total = 0;
  for (std::size_t begin = 0; begin < points.size() && !time.unsure;) {
    std::size_t end = begin;
    std::int64_t lines = 0;
    for (; end < points.size() && points[end].start == points[begin].start; ++end)
      lines += points[end].timed_lines;
    std::int64_t left = std::max<std::int64_t>(lines / 2, 1);
    for (std::size_t i = begin; i < end; ++i) {
      if (points[i].timed_lines == 0) continue;
      if (mean_of(points[i]) <= limit || points[i].timed_lines > left) break;
      left -= points[i].timed_lines;
      time.warm_up[i] = true;
      time.warm_up_lines += points[i].timed_lines;
      warm_up_total += static_cast<double>(points[i].total.count());
    }
    begin = end;
  }
  if (time.warm_up_lines > 0)
    time.warm_up_mean = rounded(warm_up_total / static_cast<double>(time.warm_up_lines));

  time.regimes = time_regimes(points, time.warm_up);
  std::vector<WeightedTime> steady;
  double total = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const IterationPoint& point = points[i];
    if (point.timed_lines == 0 || !time.counts(i)) continue;
    if (steady.empty()) {
      time.first = point.first;
      time.least = point.least;
      time.most = point.most;
    }
    time.last = point.last;
    time.least = std::min(time.least, point.least);
    time.most = std::max(time.most, point.most);
    time.merged = time.merged || point.timed_lines > 1;
    time.lines += point.timed_lines;
    total += static_cast<double>(point.total.count());
    steady.push_back({mean_of(point), point.timed_lines});
  }
  if (steady.empty()) return time;
  const double mean = total / static_cast<double>(time.lines);
  double squares = 0;
  for (const WeightedTime& each : steady)
    squares += static_cast<double>(each.lines) * (each.time - mean) * (each.time - mean);
  time.mean = rounded(mean);
  time.median = rounded(quantile(steady, 0.5));
  time.tenth = rounded(quantile(steady, 0.1));
  time.ninetieth = rounded(quantile(steady, 0.9));
  if (time.lines > 1) time.deviation = rounded(std::sqrt(squares / static_cast<double>(time.lines - 1)));
  return time;
}

}  // namespace nadi::inline jobs
