#include "nadi/sampling/acquisition_search.h"

#include <algorithm>
#include <cmath>

#include "nadi/sampling/projected_lbfgs.h"

namespace nadi::inline tuning {
namespace {

// Grids of so many values are climbed as if they were continuous, and snapped.
constexpr std::int64_t kNearlyContinuous = 24;

struct RatedPoint {
  std::vector<double> point;
  double rating = 0;
};

bool climbs_by_gradient(const SearchParameter& parameter) {
  if (parameter.kind == ParameterKind::kChoice || parameter.single()) return false;
  const auto count = parameter.count();
  return !count || *count > kNearlyContinuous;
}

class AcquisitionSearch {
 public:
  AcquisitionSearch(const AcquisitionProblem& problem, CountedRandom& random)
      : problem_(problem), random_(random) {}

  std::optional<std::vector<double>> run() {
    std::vector<RatedPoint> candidates = rated_candidates();
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const RatedPoint& a, const RatedPoint& b) { return a.rating > b.rating; });
    std::vector<RatedPoint> climbers;
    for (RatedPoint& candidate : candidates) {
      if (climbers.size() == static_cast<std::size_t>(problem_.climbers)) break;
      const bool near = std::any_of(climbers.begin(), climbers.end(), [&](const RatedPoint& other) {
        return point_distance(problem_.space, candidate.point, other.point) < 1e-6;
      });
      if (!near) climbers.push_back(std::move(candidate));
    }
    if (climbers.empty()) return std::nullopt;
    RatedPoint best = climbers.front();
    for (RatedPoint& climber : climbers) {
      climb(climber);
      if (climber.rating > best.rating) best = climber;
    }
    return best.point;
  }

 private:
  double rating(std::span<const double> point) const {
    return problem_.rate(model_features(problem_.space, point), {});
  }

  bool usable(std::span<const double> point) const {
    return problem_.space.valid(point) && !problem_.tried.contains(point);
  }

  std::vector<RatedPoint> rated_candidates() {
    std::vector<RatedPoint> rated;
    const auto add = [&](std::vector<double> point) {
      if (!usable(point)) return;
      const double value = rating(point);
      rated.push_back({std::move(point), value});
    };
    if (problem_.pool.points() &&
        problem_.pool.points()->size() <= static_cast<std::size_t>(problem_.candidates) * 2) {
      for (const std::vector<double>& point : *problem_.pool.points()) add(point);
      if (!rated.empty()) return rated;
    }
    const int around = problem_.best_points.empty() ? 0 : problem_.candidates / 2;
    for (int i = 0; i < problem_.candidates - around; ++i) add(problem_.pool.draw_any(random_));
    for (int i = 0; i < around; ++i) {
      const auto& centre = problem_.best_points[static_cast<std::size_t>(i) % problem_.best_points.size()];
      add(neighbour(centre, i));
    }
    if (rated.empty()) {
      if (auto point = problem_.pool.draw(random_, problem_.tried)) rated.push_back({*point, rating(*point)});
    }
    return rated;
  }

  // Steps of several sizes, up to the length over which the model changes; half of the points change few
  // parameters.
  std::vector<double> neighbour(std::span<const double> centre, int index) {
    const SearchSpace& space = problem_.space;
    std::vector<double> units = space.units_of(centre);
    const double share = index % 2 == 0 ? 1.0 : std::min(1.0, 2.0 / static_cast<double>(space.size()));
    const double step = 0.4 * std::pow(10.0, -2 * random_.uniform());
    bool changed = false;
    for (int round = 0; round < 10 && !changed; ++round) {
      for (std::size_t i = 0; i < units.size(); ++i) {
        if (random_.uniform() >= share) continue;
        const SearchParameter& parameter = space.parameters[i];
        if (parameter.kind == ParameterKind::kChoice) {
          if (random_.uniform() < 0.3) units[i] = random_.uniform();
        } else {
          const double cell = parameter.count() ? 0.8 / static_cast<double>(*parameter.count()) : 0;
          const double width = std::max(step * std::min(1.0, problem_.lengths[i]), cell);
          units[i] = std::clamp(units[i] + width * random_.normal(), 0.0, 1.0);
        }
        changed = true;
      }
    }
    return space.point_at(units);
  }

  void climb(RatedPoint& climber) {
    for (int round = 0; round < 3; ++round) {
      const double before = climber.rating;
      climb_numbers(climber);
      const bool moved = climb_grid(climber);
      if (!moved || climber.rating < before + 1e-6) break;
    }
  }

  void climb_numbers(RatedPoint& climber) {
    const SearchSpace& space = problem_.space;
    std::vector<std::size_t> moving;
    for (std::size_t i = 0; i < space.size(); ++i)
      if (!std::isnan(climber.point[i]) && climbs_by_gradient(space.parameters[i])) moving.push_back(i);
    if (moving.empty()) return;
    std::vector<double> features = model_features(space, climber.point);
    std::vector<double> full_gradient(space.size());
    std::vector<double> x;
    for (const std::size_t index : moving) x.push_back(features[index]);
    const std::vector<double> lower(x.size(), 0.0);
    const std::vector<double> upper(x.size(), 1.0);
    minimize_in_box(
        [&](std::span<const double> at, std::span<double> gradient) {
          for (std::size_t k = 0; k < moving.size(); ++k) features[moving[k]] = at[k];
          const double value = problem_.rate(features, full_gradient);
          for (std::size_t k = 0; k < moving.size(); ++k) gradient[k] = -full_gradient[moving[k]];
          return -value;
        },
        lower, upper, x, {.iterations = 30, .tolerance = 1e-4});
    std::vector<double> point = climber.point;
    for (std::size_t k = 0; k < moving.size(); ++k)
      point[moving[k]] = space.parameters[moving[k]].value_at(x[k]);
    take_if_better(climber, space.completed(std::move(point)));
  }

  // One parameter at a time: every other choice, and the next values of a grid on both sides.
  bool climb_grid(RatedPoint& climber) {
    const SearchSpace& space = problem_.space;
    bool moved = false;
    for (std::size_t i = 0; i < space.size(); ++i) {
      const SearchParameter& parameter = space.parameters[i];
      const auto count = parameter.count();
      if (!count || parameter.single() || std::isnan(climber.point[i])) continue;
      const double from = climber.point[i];
      const auto try_value = [&](double value) {
        if (!parameter.contains(value) || value == climber.point[i]) return;
        std::vector<double> point = climber.point;
        point[i] = value;
        moved = take_if_better(climber, space.completed(std::move(point))) || moved;
      };
      if (*count <= kNearlyContinuous) {
        for (std::int64_t k = 0; k < *count; ++k)
          try_value(parameter.snapped(parameter.low + static_cast<double>(k) * parameter.step));
      } else {
        for (const double offset : {1.0, -1.0, 2.0, -2.0})
          try_value(parameter.snapped(from + offset * parameter.step));
      }
    }
    return moved;
  }

  bool take_if_better(RatedPoint& climber, std::vector<double> point) const {
    if (!usable(point)) return false;
    const double value = rating(point);
    if (!(value > climber.rating)) return false;
    climber = {std::move(point), value};
    return true;
  }

  const AcquisitionProblem& problem_;
  CountedRandom& random_;
};

}  // namespace

std::vector<double> model_features(const SearchSpace& space, std::span<const double> point) {
  std::vector<double> features(space.size());
  for (std::size_t i = 0; i < space.size(); ++i) {
    const SearchParameter& parameter = space.parameters[i];
    const bool choice = parameter.kind == ParameterKind::kChoice;
    if (std::isnan(point[i]))
      features[i] = choice ? -1 : 0.5;
    else
      features[i] = choice ? point[i] : parameter.unit_of(point[i]);
  }
  return features;
}

std::optional<std::vector<double>> maximize_acquisition(const AcquisitionProblem& problem,
                                                        CountedRandom& random) {
  return AcquisitionSearch(problem, random).run();
}

}  // namespace nadi::inline tuning
