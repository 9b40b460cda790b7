#include "nadi/analysis/launches.h"

#include <gtest/gtest.h>

#include <random>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

TEST(Launches, CallsAndDelays) {
  const auto timeline = timeline_for_tests({
      {.id = 1, .start = 1'000, .end = 9'000, .host = true},
      {.id = 2, .start = 9'000, .end = 70'000, .host = true, .inclusive = 61'000},
      {.id = 11, .start = 8'000, .end = 10'000, .data = {1}, .stream = 7},     // before its call returned
      {.id = 12, .start = 200'000, .end = 290'000, .data = {2}, .stream = 7},  // 130 us after
      {.id = 13, .start = 300'000, .end = 300'001, .stream = 7},
  });
  const LaunchStatistics statistics = launch_statistics(*timeline);
  EXPECT_EQ(statistics.without_launch, 1);
  ASSERT_EQ(statistics.rows.size(), 1);
  const LaunchRow& row = statistics.rows[0];
  EXPECT_EQ(row.activity, Activity::kCompute);
  EXPECT_EQ(row.call.count, 2);
  EXPECT_EQ(row.call.total, Nanoseconds{69'000});
  EXPECT_EQ(row.call.most, Nanoseconds{61'000});
  EXPECT_EQ(row.delay.median, Nanoseconds{0});
  EXPECT_EQ(row.delay.most, Nanoseconds{130'000});
  EXPECT_EQ(row.shorter_than_call, 1);
  EXPECT_EQ(row.long_calls, 1);
  EXPECT_EQ(row.long_delays, 1);
}

TEST(Launches, Quantiles) {
  std::vector<Nanoseconds> values;
  for (std::int64_t i = 101; i > 0; --i) values.push_back(Nanoseconds{i});
  const Distribution distribution = distribution_of(values);
  EXPECT_EQ(distribution.median, Nanoseconds{51});
  EXPECT_EQ(distribution.p99, Nanoseconds{100});
  EXPECT_EQ(distribution.most, Nanoseconds{101});
  EXPECT_EQ(distribution_of({}).count, 0);
}

TEST(Launches, Queue) {
  // Launched at 10, 20, 30; started at 15, 40, 50: 1 in [10, 15), 1 in [20, 30), 2 in [30, 40), 1 in [40,
  // 50).
  const auto timeline = timeline_for_tests({
      {.id = 1, .start = 10, .end = 12, .host = true},
      {.id = 2, .start = 20, .end = 22, .host = true},
      {.id = 3, .start = 30, .end = 32, .host = true},
      {.id = 11, .start = 15, .end = 40, .data = {1}, .stream = 7},
      {.id = 12, .start = 40, .end = 50, .data = {2}, .stream = 7},
      {.id = 13, .start = 50, .end = 60, .data = {3}, .stream = 7},
  });
  const std::vector<QueueRow> queues = queue_lengths(*timeline, {.full_queue = 2});
  ASSERT_EQ(queues.size(), 1);
  EXPECT_EQ(queues[0].stream, "stream 7");
  EXPECT_EQ(queues[0].launches, 3);
  EXPECT_EQ(queues[0].longest, 2);
  EXPECT_EQ(queues[0].full, Nanoseconds{10});
  EXPECT_DOUBLE_EQ(queues[0].mean, (5 + 10 + 20 + 10) / 40.0);
}

// Reference: count at every nanosecond what was launched and has not started.
TEST(Launches, QueueAgreesWithCountingAtEveryMoment) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 30; ++round) {
    std::vector<NodeForTests> nodes;
    for (std::uint64_t id = 1; id <= 20; ++id) {
      const auto launched = static_cast<std::int64_t>(1 + random() % 200);
      const auto started = launched + static_cast<std::int64_t>(random() % 60);
      nodes.push_back({.id = id, .start = launched, .end = launched + 1, .host = true});
      nodes.push_back({.id = 100 + id, .start = started, .end = started + 1, .data = {id}, .stream = 7});
    }
    std::int64_t longest = 0, full = 0;
    double area = 0;
    for (std::int64_t t = 0; t < 300; ++t) {
      std::int64_t length = 0;
      for (std::size_t i = 0; i < nodes.size(); i += 2)
        length += nodes[i].start <= t && t < nodes[i + 1].start ? 1 : 0;
      longest = std::max(longest, length);
      full += length >= 3 ? 1 : 0;
      area += static_cast<double>(length);
    }
    const QueueRow queue = queue_lengths(*timeline_for_tests(nodes), {.full_queue = 3})[0];
    // The sweep sees the launch of what is launched and starts at once; moments do not.
    EXPECT_GE(queue.longest, longest);
    EXPECT_EQ(queue.full.count(), full);
    EXPECT_NEAR(queue.mean * static_cast<double>(queue.span.count()), area, 1e-6);
  }
}

}  // namespace
}  // namespace nadi::inline traces
