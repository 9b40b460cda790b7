#include "nadi/analysis/op_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

const OpRow& row_named(const std::vector<OpRow>& rows, std::string_view name) {
  for (const OpRow& row : rows)
    if (row.name == name) return row;
  throw std::runtime_error("no such row");
}

TEST(OpTable, Statistics) {
  const auto work = [](std::int64_t flops) {
    return [=](TraceNode& node) { add_num_ops(node, Flops{flops}); };
  };
  const std::vector<OpRow> rows =
      op_rows(*timeline_for_tests({{.id = 1, .name = "a", .start = 1, .end = 3, .more = work(10)},
                                   {.id = 2, .name = "a", .start = 3, .end = 7, .more = work(30)},
                                   {.id = 3, .name = "a", .start = 7, .end = 16},
                                   {.id = 4, .name = "b", .start = 16, .end = 20}}));
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].name, "a");  // the longest first
  EXPECT_EQ(rows[0].time.count(), 3);
  EXPECT_EQ(rows[0].time.total(), Nanoseconds{15});
  EXPECT_EQ(rows[0].time.least(), Nanoseconds{2});
  EXPECT_EQ(rows[0].time.most(), Nanoseconds{9});
  EXPECT_DOUBLE_EQ(rows[0].time.mean_ns(), 5);
  // 2, 4, 9 means squares of the distances from 5 are 9 + 1 + 16 = 26; over 2.
  EXPECT_DOUBLE_EQ(rows[0].time.standard_deviation_ns(), std::sqrt(13.0));
  // Only nodes that say their work count: 40 FLOP in 6 ns.
  EXPECT_EQ(rows[0].work.nodes, 2);
  EXPECT_DOUBLE_EQ(rows[0].work.per_second(), 40.0 / 6 * 1e9);
  EXPECT_EQ(rows[1].work.nodes, 0);
}

TEST(OpTable, RanksAreAddedOpByOp) {
  std::vector<OpRow> rows = op_rows(*timeline_for_tests(
      {{.id = 1, .name = "a", .start = 1, .end = 3}, {.id = 2, .name = "a", .start = 3, .end = 7}}));
  add_op_rows(rows, op_rows(*timeline_for_tests({{.id = 1, .name = "a", .start = 7, .end = 16},
                                                 {.id = 2, .name = "b", .start = 16, .end = 20}})));
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].time.count(), 3);
  EXPECT_DOUBLE_EQ(rows[0].time.standard_deviation_ns(), std::sqrt(13.0));  // as above
}

TEST(OpTable, DeviceTimeBelongsToAllOpsAroundTheLaunch) {
  // outer calls inner, which calls itself, which launches a kernel of 10; outer launches one of 5.
  const std::vector<OpRow> rows = op_rows(*timeline_for_tests({
      {.id = 1, .name = "outer", .start = 1, .end = 2, .host = true},
      {.id = 2, .name = "inner", .start = 2, .end = 3, .data = {1}, .ctrl = {1}, .host = true},
      {.id = 3, .name = "inner", .start = 3, .end = 4, .data = {2}, .ctrl = {2}, .host = true},
      {.id = 4, .name = "k", .start = 10, .end = 20, .data = {3}, .ctrl = {3}, .stream = 7},
      {.id = 5, .name = "k", .start = 20, .end = 25, .data = {1, 4}, .ctrl = {1}, .stream = 7},
  }));
  EXPECT_EQ(row_named(rows, "outer").device_time, Nanoseconds{15});
  EXPECT_EQ(row_named(rows, "outer").launched, 2);
  EXPECT_EQ(row_named(rows, "inner").device_time, Nanoseconds{10});  // once
  EXPECT_EQ(row_named(rows, "inner").launched, 1);
  EXPECT_EQ(row_named(rows, "inner").time.total(), Nanoseconds{2});
}

TEST(OpTable, LayersAreInTheOrderOfTheirNumbers) {
  const auto of = [](std::string_view layer) {
    return [=](TraceNode& node) { node.attributes.add_text("layer", layer); };
  };
  const auto names = [](const std::vector<GroupRow>& rows) {
    std::vector<std::string> result;
    for (const GroupRow& row : rows) result.push_back(row.name);
    return result;
  };
  // h.10 takes the longest, and a node without a layer comes last.
  const auto timeline = timeline_for_tests({{.id = 1, .start = 1, .end = 90, .more = of("h.10")},
                                            {.id = 2, .start = 1, .end = 2},
                                            {.id = 3, .start = 90, .end = 98, .more = of("h.2")},
                                            {.id = 4, .start = 98, .end = 99, .more = of("ln_f")}});
  std::vector<GroupRow> rows = group_rows(*timeline, Grouping::kLayer);
  EXPECT_EQ(names(rows), (std::vector<std::string>{"h.2", "h.10", "ln_f", ""}));
  const auto other = timeline_for_tests({{.id = 1, .start = 1, .end = 9, .more = of("h.3")}});
  add_group_rows(rows, group_rows(*other, Grouping::kLayer), Grouping::kLayer);
  EXPECT_EQ(names(rows), (std::vector<std::string>{"h.2", "h.3", "h.10", "ln_f", ""}));
}

TEST(OpTable, Groups) {
  const auto of = [](std::string_view layer, std::int64_t step) {
    return [=](TraceNode& node) {
      node.attributes.add_text("layer", layer);
      node.attributes.add_int64("step", step);
    };
  };
  const auto timeline = timeline_for_tests(
      {{.id = 1, .start = 1, .end = 3, .more = of("h.0", 9)},
       {.id = 2, .start = 3, .end = 8, .more = of("h.1", 9)},
       {.id = 3, .start = 10, .end = 11, .type = NodeType::kCommColl, .more = of("h.1", 10)},
       {.id = 4, .more = of("h.1", 10)}});  // without times
  const std::vector<GroupRow> layers = group_rows(*timeline, Grouping::kLayer);
  ASSERT_EQ(layers.size(), 2);
  EXPECT_EQ(layers[1].name, "h.1");
  EXPECT_EQ(layers[1].compute, Nanoseconds{5});
  EXPECT_EQ(layers[1].communication, Nanoseconds{1});
  EXPECT_EQ(layers[1].nodes, 3);
  const std::vector<GroupRow> steps = group_rows(*timeline, Grouping::kStep);
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].name, "9");
  EXPECT_EQ(steps[0].end - steps[0].start, Nanoseconds{7});
  EXPECT_EQ(steps[1].name, "10");
  EXPECT_EQ(steps[1].start, Nanoseconds{10});
  EXPECT_TRUE(group_rows(*timeline, Grouping::kPhase).empty());
}

}  // namespace
}  // namespace nadi::inline traces
