#include "nadi/sampling/pareto_front.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace nadi::inline tuning {
namespace {

// For two objectives: by the first, then the second; a point is on the front when its second is below all
// before it.
std::vector<std::size_t> front_of_two(const std::vector<std::vector<double>>& points,
                                      std::vector<std::size_t> order) {
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return points[a] != points[b] ? points[a] < points[b] : a < b;
  });
  std::vector<std::size_t> front;
  for (const std::size_t index : order) {
    if (front.empty() || points[index][1] < points[front.back()][1] || points[index] == points[front.back()])
      front.push_back(index);
  }
  std::sort(front.begin(), front.end());
  return front;
}

std::vector<std::size_t> front_among(const std::vector<std::vector<double>>& points,
                                     std::vector<std::size_t> candidates) {
  if (candidates.empty()) return {};
  if (points[candidates[0]].size() == 2) return front_of_two(points, std::move(candidates));
  // What dominates a point comes before it in lexicographic order, and is on the front or behind one that is.
  std::sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    return points[a] != points[b] ? points[a] < points[b] : a < b;
  });
  std::vector<std::size_t> front;
  for (const std::size_t index : candidates) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](std::size_t other) {
      return dominates(points[other], points[index]);
    });
    if (!beaten) front.push_back(index);
  }
  std::sort(front.begin(), front.end());
  return front;
}

}  // namespace

bool dominates(std::span<const double> left, std::span<const double> right) {
  bool better = false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] > right[i]) return false;
    better = better || left[i] < right[i];
  }
  return better;
}

std::vector<std::size_t> pareto_front(const std::vector<std::vector<double>>& points) {
  std::vector<std::size_t> all(points.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return front_among(points, std::move(all));
}

std::vector<std::size_t> pareto_ranks(const std::vector<std::vector<double>>& points, std::size_t enough) {
  std::vector<std::size_t> rest(points.size());
  std::iota(rest.begin(), rest.end(), std::size_t{0});
  std::vector<std::size_t> ranks(points.size(), 0);
  std::size_t rank = 0;
  std::size_t ranked = 0;
  while (!rest.empty() && ranked < enough) {
    const std::vector<std::size_t> front = front_among(points, rest);
    std::vector<std::size_t> behind;
    std::set_difference(rest.begin(), rest.end(), front.begin(), front.end(), std::back_inserter(behind));
    for (const std::size_t index : front) ranks[index] = rank;
    ranked += front.size();
    rest = std::move(behind);
    ++rank;
  }
  for (const std::size_t index : rest) ranks[index] = rank;
  return ranks;
}

std::vector<double> crowding_distances(const std::vector<std::vector<double>>& points) {
  std::vector<double> distances(points.size(), 0.0);
  if (points.empty()) return distances;
  std::vector<std::size_t> order(points.size());
  for (std::size_t objective = 0; objective < points[0].size(); ++objective) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return points[a][objective] < points[b][objective];
    });
    const double range = points[order.back()][objective] - points[order.front()][objective];
    if (!(range > 0)) continue;
    distances[order.front()] = distances[order.back()] = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i + 1 < order.size(); ++i)
      distances[order[i]] += (points[order[i + 1]][objective] - points[order[i - 1]][objective]) / range;
  }
  return distances;
}

double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& reference) {
  std::erase_if(points, [&](const std::vector<double>& point) {
    for (std::size_t i = 0; i < reference.size(); ++i)
      if (!(point[i] < reference[i])) return true;
    return false;
  });
  if (points.empty()) return 0;
  const std::size_t last = reference.size() - 1;
  if (last == 0) {
    double best = reference[0];
    for (const auto& point : points) best = std::min(best, point[0]);
    return reference[0] - best;
  }
  // Slices along the last objective: each is as thick as the gap to the next point, and has the volume of all
  // points up to it in the other objectives.
  std::sort(points.begin(), points.end(),
            [&](const auto& a, const auto& b) { return a[last] != b[last] ? a[last] < b[last] : a < b; });
  const std::vector<double> lower_reference(reference.begin(), reference.end() - 1);
  std::vector<std::vector<double>> below;
  double volume = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    below.emplace_back(points[i].begin(), points[i].end() - 1);
    const double next = i + 1 < points.size() ? points[i + 1][last] : reference[last];
    if (next > points[i][last]) volume += (next - points[i][last]) * hypervolume(below, lower_reference);
  }
  return volume;
}

}  // namespace nadi::inline tuning
