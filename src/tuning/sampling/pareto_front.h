// Points that no other beats in every objective.
//
//   pareto_ranks({{1, 4}, {2, 2}, {3, 3}})  // 0, 0, 1: (3, 3) is behind (2, 2)
//
// Less is better in each objective; a point dominates another that it is no worse than anywhere and better
// than somewhere. Equal points are on the same front. Quadratic in the number of points for three objectives
// and more, n log n for the first front of two.
#pragma once

#include <span>
#include <vector>

namespace nadi::inline tuning {

bool dominates(std::span<const double> left, std::span<const double> right);

// Indices of the points on the first front, ascending.
std::vector<std::size_t> pareto_front(const std::vector<std::vector<double>>& points);

// The front of each point: 0 for those of pareto_front, 1 for those on the front of the rest, and so on.
// Peeling stops once `enough` points have a rank; the others get the next number.
std::vector<std::size_t> pareto_ranks(const std::vector<std::vector<double>>& points, std::size_t enough);

// Distance of a point's neighbours on both sides, summed over the objectives, each by its range: infinite at
// the ends.
std::vector<double> crowding_distances(const std::vector<std::vector<double>>& points);

// Volume between the points and a reference that they are better than; points beyond it count nothing. For up
// to a few hundred points: slices along the last objective.
double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& reference);

}  // namespace nadi::inline tuning
