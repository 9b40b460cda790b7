#include "nadi/analysis/overlap.h"

#include <gtest/gtest.h>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

TEST(Overlap, ByKindAndGroup) {
  const auto coll = [](std::uint64_t id, std::int64_t start, std::int64_t end,
                       std::function<void(TraceNode&)> more) {
    return NodeForTests{
        .id = id, .start = start, .end = end, .type = NodeType::kCommColl, .stream = 2, .more = more};
  };
  const auto timeline = timeline_for_tests(
      {{.id = 1, .start = 1, .end = 11, .stream = 1},
       coll(2, 6, 16, collective_for_tests(CollectiveType::kAllReduce, 100, 1)),
       coll(3, 14, 20, collective_for_tests(CollectiveType::kAllReduce, 20, 1)),
       coll(4, 1, 5, collective_for_tests(CollectiveType::kAllGather, 30, 2)),
       coll(5, 30, 31, [](TraceNode& node) { add_comm_type(node, CollectiveType::kAllToAll); }),
       {.id = 6,
        .start = 40,
        .end = 42,
        .type = NodeType::kCommRecv,
        .stream = 2,
        .more = [](TraceNode& node) { add_comm_size(node, 8_B); }}});
  const std::vector<CommunicationRow> rows = communication_rows(*timeline, {{"1", 4}});
  ASSERT_EQ(rows.size(), 4);  // the longest time first
  EXPECT_EQ(rows[0].kind, "ALL_REDUCE");
  EXPECT_EQ(rows[0].group, "1");
  EXPECT_EQ(rows[0].calls, 2);
  EXPECT_EQ(rows[0].time, Nanoseconds{16});
  EXPECT_EQ(rows[0].under_way, Nanoseconds{14});  // 6 to 20
  EXPECT_EQ(rows[0].hidden(), Nanoseconds{5});    // 6 to 11
  EXPECT_EQ(rows[0].bytes, 120_B);
  EXPECT_EQ(rows[0].algorithm_bytes(), 120.0);
  EXPECT_EQ(rows[0].bus_bytes(), 180.0);  // times 2 * 3 / 4

  // What four ranks put together is four times what each puts in; each link carries three of these.
  CommunicationRow gather = rows[1];
  EXPECT_EQ(gather.kind, "ALL_GATHER");
  EXPECT_EQ(gather.algorithm_bytes(), std::nullopt);  // nobody said how many there are
  gather.members = 4;
  EXPECT_EQ(gather.algorithm_bytes(), 120.0);
  EXPECT_EQ(gather.bus_bytes(), 90.0);

  EXPECT_EQ(rows[2].kind, "RECV");
  EXPECT_EQ(rows[2].bus_bytes(), 8.0);
  EXPECT_EQ(rows[3].kind, "ALL_TO_ALL");
  EXPECT_EQ(rows[3].calls_without_size, 1);
  EXPECT_EQ(rows[3].algorithm_bytes(), std::nullopt);
}

// Reference: look at every nanosecond.
TEST(Overlap, AgreesWithLookingAtEveryMoment) {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    const std::vector<NodeForTests> nodes = random_device_nodes(seed, 30, 200);
    const auto timeline = timeline_for_tests(nodes);
    for (const CommunicationRow& row : communication_rows(*timeline)) {
      std::int64_t under_way = 0, exposed = 0;
      for (std::int64_t t = 0; t < 300; ++t) {
        bool computes = false, communicates = false;
        for (const Communication& call : timeline->communications())
          communicates =
              communicates || (timeline->text(call.group) == row.group &&
                               timeline->start(call.row).count() <= t && t < timeline->end(call.row).count());
        for (const NodeForTests& node : nodes)
          computes = computes || (node.type == NodeType::kComp && node.start <= t && t < node.end);
        under_way += communicates ? 1 : 0;
        exposed += communicates && !computes ? 1 : 0;
      }
      EXPECT_EQ(row.under_way.count(), under_way);
      EXPECT_EQ(row.exposed.count(), exposed);
    }
  }
}

}  // namespace
}  // namespace nadi::inline traces
