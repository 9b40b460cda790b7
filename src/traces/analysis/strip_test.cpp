#include "nadi/analysis/strip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/analysis/breakdown.h"
#include "nadi/analysis/run_analysis.h"
#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

Nanoseconds strip_busy(const std::vector<StripBox>& boxes) {
  Nanoseconds busy;
  for (const StripBox& box : boxes) busy += box.busy;
  return busy;
}

std::int64_t strip_nodes(const std::vector<StripBox>& boxes) {
  std::int64_t nodes = 0;
  for (const StripBox& box : boxes) nodes += box.nodes;
  return nodes;
}

void expect_in_order(const std::vector<StripBox>& boxes) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_LE(boxes[i].busy, boxes[i].end - boxes[i].start);
    if (i > 0) {
      EXPECT_GE(boxes[i].start, boxes[i - 1].end);
    }
  }
}

TEST(Strip, OverlappingNodesAreOneBoxNamedAfterTheLongest) {
  const auto timeline =
      timeline_for_tests({{.id = 1, .name = "a", .start = 100, .end = 200, .stream = 1},
                          {.id = 2, .name = "b", .start = 150, .end = 400, .stream = 2},
                          {.id = 3, .name = "c", .start = 90'000, .end = 90'100, .stream = 1}});
  const RankStrip strip = strip_of(*timeline, 3, Nanoseconds{1000});
  EXPECT_EQ(strip.rank, 3);
  ASSERT_EQ(strip.compute.size(), 2);
  EXPECT_EQ(strip.compute[0].start, Nanoseconds{1100});
  EXPECT_EQ(strip.compute[0].end, Nanoseconds{1400});
  EXPECT_EQ(strip.compute[0].busy, Nanoseconds{300});
  EXPECT_EQ(strip.compute[0].nodes, 2);
  EXPECT_EQ(strip.names[strip.compute[0].name], "b");
  EXPECT_EQ(strip.names[strip.compute[1].name], "c");
  EXPECT_EQ(strip.names.size(), 2);  // no box is named "a"
}

TEST(Strip, TimeAndNodesStayWhateverIsJoined) {
  const auto nodes = random_device_nodes(3, 20'000, 100'000'000);
  const auto timeline = timeline_for_tests(nodes);
  const Breakdown breakdown = break_down(*timeline);
  Strips strips{.ranks = {strip_of(*timeline, 0)}};
  for (const std::size_t most : {kMaxStripBoxes, std::size_t{500}}) {
    fit_strips(strips, most);
    const RankStrip& strip = strips.ranks[0];
    EXPECT_LE(strip.boxes(), most);
    EXPECT_EQ(strip_busy(strip.compute), breakdown.compute);
    EXPECT_EQ(strip_busy(strip.communication), breakdown.communication);
    EXPECT_EQ(strip_busy(strip.memory), breakdown.memory);
    EXPECT_EQ(strip_nodes(strip.compute) + strip_nodes(strip.communication) + strip_nodes(strip.memory),
              20'000);
    expect_in_order(strip.compute);
    expect_in_order(strip.communication);
  }
}

TEST(Strip, ThePathOfARunIsInItsStripsToTheNanosecond) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto trace = trace_for_tests(random_device_nodes(seed, 300, 1'000'000));
    RunAnalysis run;
    add_rank(run, {.trace = *trace, .file = "t.et", .rank = 0}, {.picture = true});
    finish(run);
    ASSERT_EQ(run.strips.ranks.size(), 1);
    const RankStrip& strip = run.strips.ranks[0];
    EXPECT_EQ(strip_busy(strip.path), run.paths[0].length());
    EXPECT_EQ(strip.path.front().start, run.paths[0].start);
    EXPECT_EQ(strip.path.back().end, run.paths[0].end);
    expect_in_order(strip.path);
  }
}

TEST(Strip, IsMadeWhereAskedForOnly) {
  const auto trace = trace_for_tests(random_device_nodes(1, 30, 1000));
  RunAnalysis run;
  add_rank(run, {.trace = *trace, .file = "t.et", .rank = 0}, {});
  finish(run);
  EXPECT_TRUE(run.strips.ranks.empty());
  EXPECT_TRUE(run.strips.crossings.empty());
}

TEST(Strip, KeepsTheRanksThatThePathTouchesMost) {
  Strips strips;
  for (std::int64_t rank = 0; rank < 100; ++rank) {
    strips.ranks.push_back({.rank = rank, .names = {"n"}});
    if (rank >= 90)
      strips.ranks.back().path.push_back(
          {.start = Nanoseconds{rank}, .end = Nanoseconds{rank + 1}, .busy = Nanoseconds{1}, .nodes = 1});
  }
  strips.crossings = {{.from = 80, .to = 95, .at = {}}, {.from = 94, .to = 95, .at = {}}};
  fit_strips(strips);
  EXPECT_EQ(strips.ranks.size(), kMaxStripRanks);
  EXPECT_EQ(strips.ranks_left_out, 100 - static_cast<std::int64_t>(kMaxStripRanks));
  EXPECT_EQ(strips.ranks.front().rank, 0);
  EXPECT_EQ(strips.ranks.back().rank, 99);
  ASSERT_EQ(strips.crossings.size(), 1);
  EXPECT_EQ(strips.crossings[0].from, 94);
}

}  // namespace
}  // namespace nadi::inline traces
