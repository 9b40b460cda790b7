#include "nadi/calibrate/rank_skew.h"

#include <gtest/gtest.h>

#include "nadi/comm/thread_world_for_tests.h"

namespace nadi::inline runs {
namespace {

constexpr double kMs = 1e6;

TEST(RankSkew, IsTheDelayOfTheLastRankAgainstTheMean) {
  ThreadWorld world(2);
  RankSkew skew(world.rank(0));
  // Kernels of 5 ms in the mean, of which the ranks are slower in turns by 10%: 4.5 and 5.5 ms. The last is
  // 0.5 ms of 5 later than the mean. After four of them, 20 ms, they are level.
  const std::vector<std::vector<double>> ranks{{4.5 * kMs, 5.5 * kMs, 4.5 * kMs, 5.5 * kMs},
                                               {5.5 * kMs, 4.5 * kMs, 5.5 * kMs, 4.5 * kMs}};
  skew.add(ranks);
  const std::vector<MeasuredSkew> rows = skew.rows(1);
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0].after, Nanoseconds{1'000'000});
  EXPECT_EQ(rows[0].wait, Nanoseconds{}) << "no kernel is of 1 to 2 ms";
  EXPECT_EQ(rows[1].after, Nanoseconds{4'000'000});
  EXPECT_EQ(rows[1].wait, Nanoseconds{400'000});
  EXPECT_EQ(rows[2].after, Nanoseconds{16'000'000});
  EXPECT_EQ(rows[2].wait, Nanoseconds{});
  EXPECT_EQ(rows[5].after, Nanoseconds{1'024'000'000});
  EXPECT_EQ(rows[5].wait, Nanoseconds{}) << "as after the longest window";
}

TEST(RankSkew, TheLastRankIsFasterWhileTheOthersWait) {
  ThreadWorld world(2);
  RankSkew skew(world.rank(0));
  const std::vector<std::vector<double>> ranks{{4 * kMs}, {6 * kMs}};
  skew.add(ranks);
  // With a collective at the end: 4 ms together, the other 2 ms of work at 1.25 times the speed: 5.6 ms,
  // which is 0.6 ms of 5 more than the mean.
  EXPECT_EQ(skew.rows(1.25)[1].wait, Nanoseconds{480'000});
  EXPECT_EQ(skew.rows(2)[1].wait, Nanoseconds{}) << "4 + 2 / 2 = 5 is the mean";
  EXPECT_EQ(skew.rows(4)[1].wait, Nanoseconds{}) << "never negative";
}

TEST(RankSkew, GathersTheKernelsOfAllRanks) {
  ThreadWorld world(2);
  std::vector<std::vector<MeasuredSkew>> rows(2);
  const auto errors = world.run([&](Communicator& rank) {
    const auto number = static_cast<std::int64_t>(to_number(rank.rank()));
    ExecutedStep step;
    step.kernels.push_back(
        {.start = Nanoseconds{100}, .end = Nanoseconds{100 + 1'100'000 + 200'000 * number}});
    RankSkew skew(rank);
    skew.add(std::span<const ExecutedStep>(&step, 1));
    rows[static_cast<std::size_t>(number)] = skew.rows(1);
  });
  for (const auto& error : errors) EXPECT_FALSE(error.has_value());
  ASSERT_EQ(rows[0].size(), 6U);
  // 1.1 and 1.3 ms: 0.1 of 1.2 later than the mean, for 1 ms.
  EXPECT_NEAR(static_cast<double>(rows[0][0].wait.count()), 1e6 * 0.1 / 1.2, 1);
  EXPECT_EQ(rows[0], rows[1]);
}

TEST(RankSkew, NothingIsKnownWithoutAWindow) {
  ThreadWorld world(2);
  RankSkew skew(world.rank(0));
  const std::vector<std::vector<double>> ranks{{0.1 * kMs}, {0.2 * kMs}};
  skew.add(ranks);
  EXPECT_TRUE(skew.rows(1).empty());
}

}  // namespace
}  // namespace nadi::inline runs
