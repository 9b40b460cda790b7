#include "nadi/job_log/steady_time.h"

#include <gtest/gtest.h>

#include "nadi/job_log/node_log.h"

namespace nadi::inline jobs {
namespace {

// A line of an iteration that took so many milliseconds.
IterationPoint line_of(std::int64_t iteration, std::int64_t milliseconds, int start = 0) {
  const Nanoseconds time{milliseconds * 1'000'000};
  return {.first = iteration,
          .last = iteration,
          .start = start,
          .timed_lines = 1,
          .total = time,
          .least = time,
          .most = time};
}

TEST(SteadyTime, TellsTheWarmUpApart) {
  // Second half: 1400, 1410 and 1390, median 1400; the limit is 1540. Steady: (1400 + 1400 + 1410 + 1390)
  // / 4.
  const SteadyTime time = steady_time(
      {line_of(10, 4540), line_of(20, 1400), line_of(30, 1400), line_of(40, 1410), line_of(50, 1390)});
  EXPECT_EQ(time.warm_up, (std::vector<bool>{true, false, false, false, false}));
  EXPECT_EQ(time.warm_up_lines, 1);
  EXPECT_EQ(time.warm_up_mean, Nanoseconds{4'540'000'000});
  EXPECT_EQ(time.lines, 4);
  EXPECT_EQ(time.mean, Nanoseconds{1'400'000'000});
  EXPECT_EQ(time.median, Nanoseconds{1'400'000'000});
  EXPECT_EQ(time.least, Nanoseconds{1'390'000'000});
  EXPECT_EQ(time.most, Nanoseconds{1'410'000'000});
  // sqrt((0 + 0 + 10^2 + 10^2) / 3) = 8.16497 ms
  EXPECT_NEAR(static_cast<double>(time.deviation.count()), 8.16497e6, 10);
  EXPECT_EQ(time.first, 20);
  EXPECT_EQ(time.last, 50);
  EXPECT_FALSE(time.unsure);
}

TEST(SteadyTime, TwoLinesAreEnough) {
  const SteadyTime time = steady_time({line_of(10, 4540), line_of(20, 1400)});
  EXPECT_EQ(time.warm_up_lines, 1);
  EXPECT_EQ(time.mean, Nanoseconds{1'400'000'000});
  EXPECT_EQ(time.deviation, Nanoseconds{0});
}

TEST(SteadyTime, OneLineCannotBeTold) {
  const SteadyTime time = steady_time({line_of(10, 4540)});
  EXPECT_TRUE(time.unsure);
  EXPECT_EQ(time.warm_up_lines, 0);
  EXPECT_EQ(time.mean, Nanoseconds{4'540'000'000});
}

TEST(SteadyTime, NoLineHasATime) {
  EXPECT_EQ(steady_time({}).lines, 0);
  EXPECT_EQ(steady_time({IterationPoint{.first = 1, .last = 1}}).lines, 0);
}

TEST(SteadyTime, SlowLinesLaterAreNoWarmUp) {
  const SteadyTime time = steady_time({line_of(1, 1000), line_of(2, 1000), line_of(3, 3000), line_of(4, 1000),
                                       line_of(5, 1000), line_of(6, 1000)});
  EXPECT_EQ(time.warm_up_lines, 0);
  EXPECT_EQ(time.lines, 6);
  EXPECT_EQ(time.most, Nanoseconds{3'000'000'000}) << "it counts, and shows in the spread";
}

TEST(SteadyTime, ARestartWarmsUpAgain) {
  const SteadyTime time =
      steady_time({line_of(10, 4000), line_of(20, 1000), line_of(30, 1000), line_of(40, 3900, 1),
                   line_of(50, 1000, 1), line_of(60, 1000, 1), line_of(70, 1000, 1)});
  EXPECT_EQ(time.warm_up, (std::vector<bool>{true, false, false, true, false, false, false}));
  EXPECT_EQ(time.warm_up_mean, Nanoseconds{3'950'000'000});
  EXPECT_EQ(time.mean, Nanoseconds{1'000'000'000});
}

TEST(SteadyTime, NoiseIsNoWarmUp) {
  // Second half 900, 1100, 900, 1100 means median 1000, deviations 100: the limit is 1600.
  const SteadyTime time = steady_time({line_of(1, 1500), line_of(2, 1100), line_of(3, 900), line_of(4, 1100),
                                       line_of(5, 900), line_of(6, 1100), line_of(7, 900), line_of(8, 1100)});
  EXPECT_EQ(time.warm_up_lines, 0);
}

TEST(SteadyTime, MergedPointsKeepExactSumsAndExtremes) {
  IterationPoint merged = line_of(20, 1400);
  merged.first = 11;
  merged.timed_lines = 4;
  merged.lines = 4;
  merged.total = Nanoseconds{5'600'000'000};
  merged.least = Nanoseconds{1'300'000'000};
  merged.most = Nanoseconds{1'500'000'000};
  const SteadyTime time = steady_time({line_of(10, 4540), merged});
  EXPECT_TRUE(time.merged);
  EXPECT_EQ(time.lines, 4);
  EXPECT_EQ(time.mean, Nanoseconds{1'400'000'000});
  EXPECT_EQ(time.least, Nanoseconds{1'300'000'000});
  EXPECT_EQ(time.most, Nanoseconds{1'500'000'000});
  EXPECT_EQ(time.first, 11);
}

}  // namespace
}  // namespace nadi::inline jobs
