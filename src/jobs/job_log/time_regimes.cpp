#include "nadi/job_log/time_regimes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "nadi/job_log/node_log.h"

namespace nadi::inline jobs {
namespace {

constexpr double kOnTheirSide = 0.9;
constexpr double kNoises = 4;
constexpr std::size_t kMostAround = 40;

// A line, or the median of neighbours where there are very many.
struct TimedPlace {
  std::size_t begin = 0, end = 0;  // points
  std::int64_t lines = 0;
  double time = 0;
};
constexpr std::size_t kMostPlaces = 512;

double median_time(std::span<const TimedPlace> places) {
  std::vector<double> times;
  for (const TimedPlace& place : places) times.push_back(place.time);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return times.size() % 2 == 1 ? *middle : (*std::max_element(times.begin(), middle) + *middle) / 2;
}

// How far times usually are from those around them: the noise that a change of pace has to stand out of.
double noise_of(std::span<const TimedPlace> places) {
  constexpr std::size_t kAround = 5;
  std::vector<double> off;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t begin = i < kAround ? 0 : i - kAround, end = std::min(i + kAround + 1, places.size());
    off.push_back(std::abs(places[i].time - median_time(places.subspan(begin, end - begin))));
  }
  const auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
  std::ranges::nth_element(off, middle);
  return *middle;
}

// By how much the pace differs from the first side to the second; 0 where they cannot be told apart.
double difference(std::span<const TimedPlace> before, std::span<const TimedPlace> after, double noise) {
  const double one = median_time(before), other = median_time(after);
  if (std::abs(other - one) < std::max(kLeastRegimeChange * std::min(one, other), kNoises * noise)) return 0;
  const double middle = (one + other) / 2;
  const auto on_side = [&](std::span<const TimedPlace> side, bool above) {
    const auto count =
        std::ranges::count_if(side, [&](const TimedPlace& place) { return (place.time > middle) == above; });
    return static_cast<double>(count) >= kOnTheirSide * static_cast<double>(side.size());
  };
  return on_side(before, one > other) && on_side(after, other > one) ? std::abs(other - one) : 0;
}

// Where within these the times go over from the median before `change` to that after it: where the sum of distances is least.
std::size_t settled(std::span<const TimedPlace> places, std::size_t change) {
  const double one = median_time(places.first(change)), other = median_time(places.subspan(change));
  double off = 0, least = 0;  // against all of them being after it
  std::size_t best = 0;
  for (std::size_t before = 1; before < places.size(); ++before) {
    off += std::abs(places[before - 1].time - one) - std::abs(places[before - 1].time - other);
    if (best != 0 && off >= least) continue;
    least = off;
    best = before;
  }
  return best;
}

// How many of the places are before the largest change; nothing where the pace does not change.
std::optional<std::size_t> change_of_pace(std::span<const TimedPlace> places, double noise) {
  const std::size_t around = std::clamp(places.size() / 8, kLeastRegimeLines, kMostAround);
  double largest = 0;
  std::size_t change = 0;
  for (std::size_t before = kLeastRegimeLines; before + kLeastRegimeLines <= places.size(); ++before) {
    const std::size_t left = std::min(around, before), right = std::min(around, places.size() - before);
    const double found =
        difference(places.subspan(before - left, left), places.subspan(before, right), noise);
    if (found <= largest) continue;
    largest = found;
    change = before;
  }
  if (change == 0) return std::nullopt;
  const std::size_t begin = change - std::min(around, change);
  change =
      begin + settled(places.subspan(begin, std::min(2 * around, places.size() - begin)), change - begin);
  return std::clamp(change, kLeastRegimeLines, places.size() - kLeastRegimeLines);
}

void add_regimes(std::span<const TimedPlace> places, const std::vector<IterationPoint>& points, double noise,
                 std::vector<TimeRegime>& regimes) {
  if (const auto change = change_of_pace(places, noise)) {
    add_regimes(places.first(*change), points, noise, regimes);
    add_regimes(places.subspan(*change), points, noise, regimes);
    return;
  }
  TimeRegime regime{.begin = places.front().begin,
                    .end = places.back().end,
                    .first = points[places.front().begin].first,
                    .last = points[places.back().end - 1].last,
                    .median = Nanoseconds{std::llround(median_time(places))}};
  for (const TimedPlace& place : places) regime.lines += place.lines;
  regimes.push_back(regime);
}

}  // namespace

std::vector<TimeRegime> time_regimes(const std::vector<IterationPoint>& points,
                                     const std::vector<bool>& left_out) {
  std::vector<TimedPlace> places;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].timed_lines > 0 && !(i < left_out.size() && left_out[i]))
      places.push_back({.begin = i,
                        .end = i + 1,
                        .lines = points[i].timed_lines,
                        .time = static_cast<double>(points[i].total.count()) /
                                static_cast<double>(points[i].timed_lines)});
  if (const std::size_t together = (places.size() + kMostPlaces - 1) / kMostPlaces; together > 1) {
    std::vector<TimedPlace> medians;
    for (std::size_t begin = 0; begin < places.size(); begin += together) {
      const auto part = std::span(places).subspan(begin, std::min(together, places.size() - begin));
      TimedPlace& median = medians.emplace_back(
          TimedPlace{.begin = part.front().begin, .end = part.back().end, .time = median_time(part)});
      for (const TimedPlace& place : part) median.lines += place.lines;
    }
    places = std::move(medians);
  }
  std::vector<TimeRegime> regimes;
  if (!places.empty()) add_regimes(places, points, noise_of(places), regimes);
  return regimes;
}

}  // namespace nadi::inline jobs
