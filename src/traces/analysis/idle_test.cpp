#include "nadi/analysis/idle.h"

#include <gtest/gtest.h>

#include "nadi/analysis/breakdown.h"
#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

TEST(Idle, CausesOfGaps) {
  const auto timeline = timeline_for_tests({
      {.id = 9, .stream = 7},                             // without times: no gap before the next
      {.id = 1, .start = 10, .end = 20, .host = true},    // launches 11
      {.id = 2, .start = 20, .end = 30, .host = true},    // 12 and 13
      {.id = 3, .start = 600, .end = 610, .host = true},  // 14
      {.id = 11, .start = 25, .end = 100, .data = {1}, .stream = 7},
      {.id = 12, .start = 120, .end = 200, .data = {2, 11}, .stream = 7},      // 20 after: kernel
      {.id = 13, .start = 260, .end = 300, .data = {2, 12, 20}, .stream = 7},  // 60 after: waited for 20
      {.id = 14, .start = 700, .end = 710, .data = {3, 13}, .stream = 7},      // launched at 600: host
      {.id = 15, .start = 750, .end = 760, .data = {14}, .stream = 7},         // 40 after: nobody knows
      {.id = 20, .start = 150, .end = 250, .type = NodeType::kCommColl, .stream = 8},
  });
  const std::vector<LaneIdle> lanes = idle_causes(*timeline, {.kernel_gap = Nanoseconds{30}}).lanes;
  ASSERT_EQ(lanes.size(), 2);
  EXPECT_EQ(lanes[0].lane, "stream 7");
  EXPECT_EQ(lanes[0].kernel.time, Nanoseconds{20});
  EXPECT_EQ(lanes[0].dependency.time, Nanoseconds{60});
  EXPECT_EQ(lanes[0].host.time, Nanoseconds{400});
  EXPECT_EQ(lanes[0].other.time, Nanoseconds{40});
  EXPECT_EQ(lanes[0].other.gaps, 1);
  EXPECT_EQ(lanes[0].longest, Nanoseconds{400});
  EXPECT_EQ(lanes[0].total(), Nanoseconds{520});
  EXPECT_EQ(lanes[1].total(), Nanoseconds{});

  // With a wider bound the gap that waited is one between kernels, too; the last node has no launch.
  const LaneIdle wide = idle_causes(*timeline, {.kernel_gap = Nanoseconds{100}}).lanes[0];
  EXPECT_EQ(wide.kernel.time, Nanoseconds{80});
  // By default 30 us, as Holistic Trace Analysis compares.
  EXPECT_EQ(idle_causes(*timeline).lanes[0].kernel.time, Nanoseconds{80});
}

TEST(Idle, OfTheDeviceAsAWhole) {
  //  stream 7  [10, 20)                    [50, 60)            [100, 110)
  //  stream 8            [25, 30)                    [65, 70)             [110, 120)
  //  host                     sync [27, 32)  launches at 33 the one at 50, at 58 the one at 65, at 90 that at
  //  100
  // Idle: 5 (both launched by one call, that of a graph), 20 (the host was in its call until the device was
  // idle), 5 (launched in time, and nobody knows), 30 (launched at 90).
  const auto timeline = timeline_for_tests({
      {.id = 1, .start = 1, .end = 2, .host = true},
      {.id = 11, .start = 10, .end = 20, .data = {1}, .stream = 7},
      {.id = 12, .start = 25, .end = 30, .data = {1}, .stream = 8},
      {.id = 2, .name = "sync", .start = 27, .end = 32, .data = {12}, .host = true},
      {.id = 3, .start = 33, .end = 35, .data = {2}, .host = true},
      {.id = 13, .start = 50, .end = 60, .data = {3}, .stream = 7},
      {.id = 4, .start = 58, .end = 59, .data = {3}, .host = true},
      {.id = 14, .start = 65, .end = 70, .data = {4}, .stream = 8},
      {.id = 5, .start = 90, .end = 91, .data = {4}, .host = true},
      {.id = 15, .start = 100, .end = 110, .data = {5}, .stream = 7},
      {.id = 16, .start = 110, .end = 120, .data = {5}, .stream = 8},
  });
  const LaneIdle device = idle_causes(*timeline, {.kernel_gap = Nanoseconds{1}}).device;
  EXPECT_EQ(device.synchronisation.time, Nanoseconds{20});
  EXPECT_EQ(device.synchronisation.gaps, 1);
  EXPECT_EQ(device.host.time, Nanoseconds{30});
  EXPECT_EQ(device.kernel.time, Nanoseconds{5});
  EXPECT_EQ(device.other.time, Nanoseconds{5});
  EXPECT_EQ(device.total(), Nanoseconds{60});
  EXPECT_EQ(device.total(), break_down(*timeline).idle);
}

TEST(Idle, BetweenGraphs) {
  //  host      graph [1, 5)   graph [10, 20)   graph [90, 110)
  //  stream 7  [6, 30) [32, 50)                [58, 70) [72, 100)   [107, 120) [120, 130)
  const auto timeline = timeline_for_tests({
      {.id = 1, .start = 1, .end = 5, .host = true},
      {.id = 2, .start = 10, .end = 20, .host = true},
      {.id = 3, .start = 90, .end = 110, .host = true},
      {.id = 11, .start = 6, .end = 30, .data = {1}, .stream = 7},
      {.id = 12, .start = 32, .end = 50, .data = {1}, .stream = 7},    // of one graph
      {.id = 13, .start = 58, .end = 70, .data = {2}, .stream = 7},    // of the next, which was there
      {.id = 14, .start = 72, .end = 100, .data = {2}, .stream = 7},   // of one graph
      {.id = 15, .start = 107, .end = 120, .data = {3}, .stream = 7},  // the host was at it
      {.id = 16, .start = 120, .end = 130, .data = {3}, .stream = 7},
  });
  const LaneIdle lane = idle_causes(*timeline, {.kernel_gap = Nanoseconds{1}}).lanes[0];
  EXPECT_EQ(lane.kernel.time, Nanoseconds{2 + 8 + 2});
  EXPECT_EQ(lane.host.time, Nanoseconds{7});
  EXPECT_EQ(lane.other.time, Nanoseconds{});
}

// Reference: every nanosecond between the lane's first start and last end at which none of its nodes runs.
TEST(Idle, GapsAreWhatIsNotBusy) {
  for (std::uint64_t seed = 200; seed < 220; ++seed) {
    const std::vector<NodeForTests> nodes = random_device_nodes(seed, 30, 300);
    for (const LaneIdle& lane : idle_causes(*timeline_for_tests(nodes)).lanes) {
      std::int64_t first = 1 << 20, last = 0, idle = 0;
      const auto is_here = [&](const NodeForTests& node) {
        return lane.lane == "stream " + std::to_string(node.stream);
      };
      for (const NodeForTests& node : nodes) {
        if (!is_here(node)) continue;
        first = std::min(first, node.start);
        last = std::max(last, node.end);
      }
      for (std::int64_t t = first; t < last; ++t) {
        bool busy = false;
        for (const NodeForTests& node : nodes)
          busy = busy || (is_here(node) && node.start <= t && t < node.end);
        idle += busy ? 0 : 1;
      }
      EXPECT_EQ(lane.total().count(), idle);
    }
    const auto timeline = timeline_for_tests(nodes);
    EXPECT_EQ(idle_causes(*timeline).device.total(), break_down(*timeline).idle);
  }
}

}  // namespace
}  // namespace nadi::inline traces
