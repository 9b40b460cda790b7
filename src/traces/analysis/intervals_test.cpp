#include "nadi/analysis/intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

namespace nadi::inline traces {
namespace {

Interval interval(std::int64_t start, std::int64_t end) {
  return {Nanoseconds{start}, Nanoseconds{end}};
}

TEST(Intervals, TouchingAndOverlappingOnesBecomeOne) {
  EXPECT_EQ(merged({interval(5, 7), interval(1, 3), interval(3, 4), interval(6, 9), interval(20, 20)}),
            (Intervals{interval(1, 4), interval(5, 9)}));
  // 3 + 4.
  EXPECT_EQ(length({interval(1, 4), interval(5, 9)}), Nanoseconds{7});
  // [3, 4) and [5, 6).
  EXPECT_EQ(overlap({interval(1, 4), interval(5, 9)}, {interval(3, 6)}), Nanoseconds{2});
  EXPECT_EQ(united({interval(1, 4)}, {interval(3, 6), interval(8, 9)}),
            (Intervals{interval(1, 6), interval(8, 9)}));
}

// Reference: the moments themselves.
std::set<std::int64_t> moments(const Intervals& intervals) {
  std::set<std::int64_t> result;
  for (const auto& [start, end] : intervals)
    for (std::int64_t t = start.count(); t < end.count(); ++t) result.insert(t);
  return result;
}

TEST(Intervals, AgreeWithSetsOfMoments) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    Intervals sets[2];
    for (Intervals& set : sets)
      for (std::uint64_t n = random() % 12; n > 0; --n) {
        const auto start = static_cast<std::int64_t>(random() % 60);
        set.push_back(interval(start, start + static_cast<std::int64_t>(random() % 10)));
      }
    const std::set<std::int64_t> a = moments(sets[0]), b = moments(sets[1]);
    std::set<std::int64_t> both, either = a, rest;
    std::ranges::set_difference(a, b, std::inserter(rest, rest.end()));
    for (const std::int64_t t : b) (a.contains(t) ? both : either).insert(t);
    const Intervals first = merged(sets[0]), second = merged(sets[1]);
    EXPECT_EQ(length(first).count(), static_cast<std::int64_t>(a.size()));
    EXPECT_EQ(moments(first), a);
    EXPECT_EQ(overlap(first, second).count(), static_cast<std::int64_t>(both.size()));
    EXPECT_EQ(moments(without(first, second)), rest);
    either.insert(b.begin(), b.end());
    EXPECT_EQ(moments(united(first, second)), either);
  }
}

}  // namespace
}  // namespace nadi::inline traces
