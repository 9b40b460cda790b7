// Valid points of a space that have not been tried: what every sampler draws from.
//
//   const PointPool pool(space);                        // lists the points of a small finite space, once
//   TriedPoints tried(history);
//   auto point = pool.draw(random, tried);              // nothing means the space is exhausted
//   point = pool.fresh(proposal, random, tried);        // the proposal, or the nearest valid, untried one
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nadi/sampling/counted_random.h"
#include "nadi/sampling/search_space.h"
#include "nadi/sampling/trial_history.h"

namespace nadi::inline tuning {

// Points of the history by what they are. Two points that differ only in NaN's bits are the same.
//
// The history must outlive it. Made at no cost: the table is built when it has been asked for a few points.
// For one thread.
class TriedPoints {
 public:
  explicit TriedPoints(const TrialHistory& history) : history_(history) {}
  bool contains(std::span<const double> point) const;

 private:
  void build() const;

  const TrialHistory& history_;
  // Open addressing: places of trials in the history, kFree where there is none. At least half are free.
  mutable std::vector<std::uint32_t> table_;
  mutable int asked_ = 0;
};

class PointPool {
 public:
  explicit PointPool(const SearchSpace& space);

  // All valid points when the space is finite and has at most 20,000 of them.
  const std::vector<std::vector<double>>* points() const { return points_ ? &*points_ : nullptr; }

  // A random valid point; uniform in units. Throws Error (infeasible) when none is found in 20,000 draws.
  std::vector<double> draw_any(CountedRandom& random) const;

  // A random valid point that was not tried. Nothing means all were. Where points cannot be listed, and 2,000
  // draws give only tried ones, a tried one.
  std::optional<std::vector<double>> draw(CountedRandom& random, const TriedPoints& tried) const;

  // `point` if it is valid and untried; else the nearest such one among the listed points, or among changes
  // of it.
  std::optional<std::vector<double>> fresh(std::vector<double> point, CountedRandom& random,
                                           const TriedPoints& tried) const;

 private:
  const SearchSpace& space_;
  bool continuous_ =
      false;  // some parameter that is always active is continuous: points do not repeat by chance
  std::optional<std::vector<std::vector<double>>> points_;
};

// Squared distance in units; two choices that differ, or a parameter active in one point alone, count 1.
double point_distance(const SearchSpace& space, std::span<const double> left, std::span<const double> right);

}  // namespace nadi::inline tuning
