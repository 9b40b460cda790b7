#include "nadi/job_log/time_regimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "nadi/job_log/node_log.h"

namespace nadi::inline jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<IterationPoint> points_of(const std::vector<double>& milliseconds) {
  std::vector<IterationPoint> points;
  for (std::size_t i = 0; i < milliseconds.size(); ++i) {
    const auto number = static_cast<std::int64_t>(10 * (i + 1));
    const Nanoseconds time{static_cast<std::int64_t>(milliseconds[i] * 1e6)};
    points.push_back(
        {.first = number, .last = number, .timed_lines = 1, .total = time, .least = time, .most = time});
  }
  return points;
}

std::vector<std::int64_t> beginnings(const std::vector<IterationPoint>& points) {
  std::vector<std::int64_t> firsts;
  for (const TimeRegime& regime : time_regimes(points, {})) firsts.push_back(regime.first);
  return firsts;
}

std::vector<double> noisy(std::mt19937& random, std::vector<std::pair<int, double>> parts, double noise) {
  std::uniform_real_distribution<double> share(1 - noise, 1 + noise);
  std::vector<double> times;
  for (const auto& [lines, time] : parts)
    for (int i = 0; i < lines; ++i) times.push_back(time * share(random));
  return times;
}

TEST(TimeRegimes, OnePaceIsOneRegime) {
  EXPECT_THAT(time_regimes({}, {}), IsEmpty());
  EXPECT_THAT(beginnings(points_of(std::vector<double>(40, 100))), ElementsAre(10));
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i)
    EXPECT_THAT(beginnings(points_of(noisy(random, {{10 + i, 100}}, 0.1))), ElementsAre(10)) << i;
}

TEST(TimeRegimes, AChangeIsFoundWhereItIs) {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const auto points = points_of(noisy(random, {{20 + i, 100}, {6 + i % 50, 115}}, 0.02));
    const auto regimes = time_regimes(points, {});
    ASSERT_EQ(regimes.size(), 2u) << i;
    EXPECT_EQ(regimes[1].first, 10 * (20 + i + 1));
    EXPECT_NEAR(static_cast<double>(regimes[0].median.count()), 100e6, 2e6);
    EXPECT_NEAR(static_cast<double>(regimes[1].median.count()), 115e6, 3e6);
  }
  EXPECT_THAT(beginnings(points_of(noisy(random, {{30, 100}, {20, 150}, {30, 100}}, 0.01))),
              ElementsAre(10, 310, 510));
}

TEST(TimeRegimes, SlowLinesAndSmallChangesPartNothing) {
  std::mt19937 random(3);
  std::vector<double> times = noisy(random, {{60, 100}}, 0.01);
  for (std::size_t i = 9; i < times.size(); i += 10) times[i] *= 3;  // an evaluation in every tenth line
  EXPECT_THAT(beginnings(points_of(times)), ElementsAre(10));
  EXPECT_THAT(beginnings(points_of(noisy(random, {{30, 100}, {30, 104}}, 0.01))), ElementsAre(10));
  times = noisy(random, {{60, 100}}, 0.01);
  for (std::size_t i = 56; i < 60; ++i) times[i] = 400;  // four lines are too few to be a pace
  EXPECT_THAT(beginnings(points_of(times)), ElementsAre(10));
}

TEST(TimeRegimes, ThousandsOfLinesArePartedAlike) {
  std::mt19937 random(5);
  const auto points = points_of(noisy(random, {{2500, 100}, {1500, 120}}, 0.03));
  const auto regimes = time_regimes(points, {});
  ASSERT_EQ(regimes.size(), 2u);
  EXPECT_NEAR(static_cast<double>(regimes[1].first), 25010, 80) << "neighbours are looked at together";
  EXPECT_EQ(regimes[0].lines + regimes[1].lines, 4000);
  EXPECT_EQ(regimes[1].end, points.size());
}

TEST(TimeRegimes, WhatIsLeftOutDoesNotCount) {
  std::mt19937 random(4);
  const auto points = points_of(noisy(random, {{10, 500}, {30, 100}}, 0.01));
  std::vector<bool> left_out(points.size(), false);
  std::fill(left_out.begin(), left_out.begin() + 10, true);
  const auto regimes = time_regimes(points, left_out);
  ASSERT_EQ(regimes.size(), 1u);
  EXPECT_EQ(regimes[0].first, 110);
  EXPECT_EQ(regimes[0].lines, 30);
}

}  // namespace
}  // namespace nadi::inline jobs
