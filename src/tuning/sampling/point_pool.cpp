#include "nadi/sampling/point_pool.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "nadi/base/error.h"

namespace nadi::inline tuning {
namespace {

constexpr std::size_t kMostListed = 20'000;
constexpr int kMostDraws = 20'000;
constexpr int kMostFreshDraws = 2'000;

constexpr int kAskedWithoutTable = 4;
constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();

std::vector<double> random_point(const SearchSpace& space, CountedRandom& random) {
  std::vector<double> units(space.size());
  for (double& unit : units) unit = random.uniform();
  return space.point_at(units);
}

}  // namespace

void TriedPoints::build() const {
  check(history_.trials.size() < kFree, "too many trials");
  table_.assign(std::bit_ceil(history_.trials.size() * 2 + 1), kFree);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = 0; i < history_.trials.size(); ++i) {
    const std::vector<double>& point = history_.trials[i].point;
    std::size_t place = point_hash(point) & mask;
    // Each point once: thousands of equal ones would make one long row.
    while (table_[place] != kFree && !same_point(history_.trials[table_[place]].point, point))
      place = (place + 1) & mask;
    if (table_[place] == kFree) table_[place] = static_cast<std::uint32_t>(i);
  }
}

bool TriedPoints::contains(std::span<const double> point) const {
  if (table_.empty()) {
    // Going through all points costs a tenth of making a table of them, and most samplers ask once.
    if (++asked_ <= kAskedWithoutTable)
      return std::any_of(history_.trials.begin(), history_.trials.end(),
                         [&](const ObservedTrial& trial) { return same_point(trial.point, point); });
    build();
  }
  const std::size_t mask = table_.size() - 1;
  for (std::size_t place = point_hash(point) & mask; table_[place] != kFree; place = (place + 1) & mask)
    if (same_point(history_.trials[table_[place]].point, point)) return true;
  return false;
}

PointPool::PointPool(const SearchSpace& space) : space_(space) {
  continuous_ =
      std::any_of(space.parameters.begin(), space.parameters.end(),
                  [](const SearchParameter& parameter) { return !parameter.active && !parameter.count(); });
  if (!continuous_) points_ = enumerate_points(space, kMostListed);
  if (points_ && points_->empty())
    throw Error{ErrorKind::kInfeasible,
                {},
                "no point of the space is allowed",
                "relax what must hold among parameters"};
}

std::vector<double> PointPool::draw_any(CountedRandom& random) const {
  if (points_) {
    // Uniform in units first: a listed point of few parameters is not rarer than one of many.
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::vector<double> point = random_point(space_, random);
      if (space_.valid(point)) return point;
    }
    return (*points_)[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(points_->size())))];
  }
  for (int attempt = 0; attempt < kMostDraws; ++attempt) {
    std::vector<double> point = random_point(space_, random);
    if (space_.valid(point)) return point;
  }
  throw Error{ErrorKind::kInfeasible,
              {},
              "no allowed point found in 20,000 random ones",
              "relax what must hold among parameters, or narrow their ranges"};
}

std::optional<std::vector<double>> PointPool::draw(CountedRandom& random, const TriedPoints& tried) const {
  if (continuous_) return draw_any(random);
  if (!points_) {
    std::vector<double> point;
    for (int attempt = 0; attempt < kMostFreshDraws; ++attempt) {
      point = draw_any(random);
      if (!tried.contains(point)) return point;
    }
    return point;
  }
  for (int attempt = 0; attempt < 50; ++attempt) {
    std::vector<double> point = draw_any(random);
    if (!tried.contains(point)) return point;
  }
  std::vector<std::size_t> untried;
  for (std::size_t i = 0; i < points_->size(); ++i)
    if (!tried.contains((*points_)[i])) untried.push_back(i);
  if (untried.empty()) return std::nullopt;
  return (
      *points_)[untried[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(untried.size())))]];
}

std::optional<std::vector<double>> PointPool::fresh(std::vector<double> point, CountedRandom& random,
                                                    const TriedPoints& tried) const {
  point = space_.completed(std::move(point));
  const bool valid = space_.valid(point);
  if (valid && !tried.contains(point)) return point;
  if (points_) {
    const std::vector<double>* nearest = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& other : *points_) {
      const double distance = point_distance(space_, point, other);
      if (distance < least && !tried.contains(other)) {
        least = distance;
        nearest = &other;
      }
    }
    if (nearest == nullptr) return std::nullopt;
    return *nearest;
  }
  // Changes that grow: one to three parameters, by a normal step that doubles every hundred attempts.
  for (int attempt = 0; attempt < 800; ++attempt) {
    std::vector<double> units = space_.units_of(point);
    const double step = 0.02 * std::pow(2.0, attempt / 100);
    const std::int64_t changes = 1 + random.below(3);
    for (std::int64_t change = 0; change < changes; ++change) {
      const auto index = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(units.size())));
      units[index] = space_.parameters[index].kind == ParameterKind::kChoice
                         ? random.uniform()
                         : std::clamp(units[index] + step * random.normal(), 0.0, 1.0);
    }
    std::vector<double> changed = space_.point_at(units);
    if (space_.valid(changed) && !tried.contains(changed)) return changed;
  }
  return draw(random, tried);
}

double point_distance(const SearchSpace& space, std::span<const double> left, std::span<const double> right) {
  double sum = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const bool no_left = std::isnan(left[i]);
    const bool no_right = std::isnan(right[i]);
    if (no_left || no_right || space.parameters[i].kind == ParameterKind::kChoice) {
      sum += no_left != no_right || (!no_left && left[i] != right[i]) ? 1 : 0;
    } else {
      const double difference = space.parameters[i].unit_of(left[i]) - space.parameters[i].unit_of(right[i]);
      sum += difference * difference;
    }
  }
  return sum;
}

}  // namespace nadi::inline tuning
