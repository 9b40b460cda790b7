// Sets of moments, as intervals that do not touch, in the order of time.
//
//   const Intervals computing = merged(std::move(any_intervals));
//   length(computing)                         // while at least one lasted
//   overlap(communicating, computing)         // while both did
#pragma once

#include <compare>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline traces {

struct Interval {
  Nanoseconds start;
  Nanoseconds end;
  auto operator<=>(const Interval&) const = default;
};
using Intervals = std::vector<Interval>;

// Any intervals, made into a set; empty ones are left out. O(n log n), O(n) where they are in order.
Intervals merged(Intervals intervals);

// What is in either of two sets. O(n).
Intervals united(const Intervals& a, const Intervals& b);

// What is in the first of two sets and not in the second. O(n).
Intervals without(const Intervals& a, const Intervals& b);

// Length of all of a set.
Nanoseconds length(const Intervals& set);
Nanoseconds overlap(const Intervals& a, const Intervals& b);  // O(n)

}  // namespace nadi::inline traces
