#include "nadi/analysis/breakdown.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

TEST(Breakdown, EachMomentCountsOnce) {
  //        0    5    10   15   20   25   30
  // comp   [---------)         [----)
  // comm        [---------)
  // mem                [-------------------)
  const auto timeline =
      timeline_for_tests({{.id = 1, .start = 100, .end = 110, .stream = 1},
                          {.id = 2, .start = 105, .end = 115, .type = NodeType::kCommColl, .stream = 2},
                          {.id = 3, .start = 112, .end = 130, .type = NodeType::kMemLoad, .stream = 3},
                          {.id = 4, .start = 120, .end = 125, .stream = 1},
                          {.id = 5, .start = 140, .end = 141, .stream = 1},
                          {.id = 6, .start = 1, .end = 1000, .host = true}});
  const Breakdown b = break_down(*timeline);
  EXPECT_EQ(b.start, Nanoseconds{100});
  EXPECT_EQ(b.span, Nanoseconds{41});
  EXPECT_EQ(b.compute, Nanoseconds{16});  // 10 + 5 + 1
  EXPECT_EQ(b.communication, Nanoseconds{10});
  EXPECT_EQ(b.exposed_communication, Nanoseconds{5});  // 110 to 115
  EXPECT_EQ(b.hidden_communication(), Nanoseconds{5});
  EXPECT_EQ(b.memory, Nanoseconds{18});
  EXPECT_EQ(b.exposed_memory, Nanoseconds{10});  // 115 to 120, 125 to 130
  EXPECT_EQ(b.idle, Nanoseconds{10});            // 130 to 140
  EXPECT_EQ(b.host_sum.time, Nanoseconds{999});
  ASSERT_EQ(b.lanes.size(), 3);
  EXPECT_EQ(b.lanes[0].lane, "stream 1");
  EXPECT_EQ(b.lanes[0].nodes, 3);
  EXPECT_EQ(b.lanes[0].busy, Nanoseconds{16});
}

// Reference: look at every nanosecond.
TEST(Breakdown, AgreesWithLookingAtEveryMoment) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<NodeForTests> nodes = random_device_nodes(seed, 30, 200);
    std::int64_t first = 1 << 20, last = 0;
    for (const NodeForTests& node : nodes) {
      first = std::min(first, node.start);
      last = std::max(last, node.end);
    }
    std::int64_t compute = 0, exposed_communication = 0, exposed_memory = 0, idle = 0, communication = 0;
    for (std::int64_t t = first; t < last; ++t) {
      bool computes = false, communicates = false, moves = false;
      for (const NodeForTests& node : nodes) {
        if (t < node.start || t >= node.end) continue;
        computes = computes || node.type == NodeType::kComp;
        communicates = communicates || node.type == NodeType::kCommColl;
        moves = moves || node.type == NodeType::kMemLoad;
      }
      communication += communicates ? 1 : 0;
      ++(computes ? compute : communicates ? exposed_communication : moves ? exposed_memory : idle);
    }
    const Breakdown b = break_down(*timeline_for_tests(nodes));
    EXPECT_EQ(b.span.count(), last - first);
    EXPECT_EQ(b.compute.count(), compute);
    EXPECT_EQ(b.communication.count(), communication);
    EXPECT_EQ(b.exposed_communication.count(), exposed_communication);
    EXPECT_EQ(b.exposed_memory.count(), exposed_memory);
    EXPECT_EQ(b.idle.count(), idle);
  }
}

}  // namespace
}  // namespace nadi::inline traces
