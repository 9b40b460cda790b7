#include "nadi/analysis/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

std::map<std::string, std::int64_t> times_of(const CriticalPath& path) {
  std::map<std::string, std::int64_t> times;
  for (const CriticalRow& row : path.rows) times[row.name] += row.time.count();
  return times;
}

using Times = std::map<std::string, std::int64_t>;

TEST(CriticalPath, FollowsWhatEndedLast) {
  //  a [10, 20) -> b [20, 50) -> d [60, 80)
  //            \-> c [20, 30) -/                     b ends last; nobody runs from 50 to 60
  const CriticalPath path = critical_path(*timeline_for_tests({
      {.id = 1, .name = "a", .start = 10, .end = 20, .stream = 1},
      {.id = 2, .name = "b", .start = 20, .end = 50, .type = NodeType::kCommColl, .data = {1}, .stream = 2},
      {.id = 3, .name = "c", .start = 20, .end = 30, .data = {1}, .stream = 1},
      {.id = 4, .name = "d", .start = 60, .end = 80, .data = {2, 3}, .stream = 3},
      {.id = 5, .name = "e", .start = 60, .end = 70, .data = {3}, .stream = 4},
  }));
  EXPECT_EQ(path.start, Nanoseconds{10});
  EXPECT_EQ(path.end, Nanoseconds{80});
  EXPECT_EQ(path.nodes, 3);
  EXPECT_EQ(times_of(path), (Times{{"a", 10}, {"b", 30}, {"d", 20}, {"untraced", 10}}));
  EXPECT_EQ(path.compute, Nanoseconds{30});
  EXPECT_EQ(path.communication, Nanoseconds{30});
  EXPECT_EQ(path.waiting, Nanoseconds{10});
}

TEST(CriticalPath, ALaneRunsOneNodeAtATime) {
  // b depends on nothing, yet could not start before a had left the lane.
  const CriticalPath path = critical_path(*timeline_for_tests(
      {{.id = 1, .name = "a", .start = 10, .end = 20}, {.id = 2, .name = "b", .start = 21, .end = 30}}));
  EXPECT_EQ(times_of(path), (Times{{"a", 10}, {"b", 9}, {"untraced", 1}}));
}

TEST(CriticalPath, OnACpuTheThreadThatComputesStartsMessages) {
  // The second message depends on the first alone, and was started when the thread had computed for long.
  const auto own = [](TraceNode& node) { node.attributes.add_text("op", node.name); };
  const auto nodes = [&](std::int64_t stream) {
    return std::vector<NodeForTests>{
        {.id = 1,
         .name = "first",
         .start = 10,
         .end = 20,
         .type = NodeType::kCommRecv,
         .stream = stream,
         .more = own},
        {.id = 2, .name = "mm", .start = 20, .end = 90, .data = {1}, .more = own},
        {.id = 3,
         .name = "second",
         .start = 95,
         .end = 100,
         .type = NodeType::kCommRecv,
         .ctrl = {1},
         .stream = stream,
         .more = own},
        {.id = 4, .name = "add", .start = 100, .end = 110, .data = {3}, .more = own}};
  };
  EXPECT_EQ(times_of(critical_path(*timeline_for_tests(nodes(-1)))),
            (Times{{"first", 10}, {"mm", 70}, {"second", 5}, {"add", 10}, {"untraced", 5}}));
  // Streams of a GPU wait for nothing but what the trace says.
  EXPECT_EQ(times_of(critical_path(*timeline_for_tests(nodes(7)))),
            (Times{{"first", 10}, {"second", 5}, {"add", 10}, {"untraced", 75}}));
}

// outer [0, 100) calls inner [10, 60), which launches at [20, 30) a kernel [35, 80); the host then waits for
// it in a call [65, 82) within outer. Durations are exclusive.
TEST(CriticalPath, HostAndDevice) {
  const CriticalPath path = critical_path(*timeline_for_tests({
      {.id = 1, .name = "outer", .start = 1000, .end = 1033, .host = true, .inclusive = 100},
      {.id = 2,
       .name = "inner",
       .start = 1010,
       .end = 1050,
       .data = {1},
       .ctrl = {1},
       .host = true,
       .inclusive = 50},
      {.id = 3,
       .name = "launch",
       .start = 1020,
       .end = 1030,
       .data = {2},
       .ctrl = {2},
       .host = true,
       .inclusive = 10},
      {.id = 4, .name = "kernel", .start = 1035, .end = 1080, .data = {3}, .ctrl = {2}, .stream = 7},
      {.id = 5,
       .name = "sync",
       .start = 1065,
       .end = 1067,
       .data = {3, 4},
       .ctrl = {1},
       .host = true,
       .inclusive = 17},
      {.id = 6,
       .name = "next",
       .start = 1090,
       .end = 1120,
       .data = {5},
       .ctrl = {1},
       .host = true,
       .inclusive = 30},
  }));
  EXPECT_EQ(path.end - path.start, Nanoseconds{120});
  // outer up to its first call (10) and from 82 to 90 (8); inner from 10 to 20; the call that waits from the
  // end of the kernel at 80 to its own at 82.
  EXPECT_EQ(times_of(path), (Times{{"outer", 10 + 8},
                                   {"inner", 10},
                                   {"launch", 10},
                                   {"launch delay", 5},
                                   {"kernel", 45},
                                   {"sync", 2},
                                   {"next", 30}}));
  EXPECT_EQ(path.host, Nanoseconds{70});
  EXPECT_EQ(path.waiting, Nanoseconds{5});
}

TEST(CriticalPath, TimeAfterTheLastNestedOpBelongsToTheOnesAround) {
  // outer [0, 100) { inner [10, 60) { leaf [20, 30) } }, then next [120, 130).
  const CriticalPath path = critical_path(*timeline_for_tests({
      {.id = 1, .name = "outer", .start = 1000, .end = 1050, .host = true, .inclusive = 100},
      {.id = 2,
       .name = "inner",
       .start = 1010,
       .end = 1050,
       .data = {1},
       .ctrl = {1},
       .host = true,
       .inclusive = 50},
      {.id = 3,
       .name = "leaf",
       .start = 1020,
       .end = 1030,
       .data = {2},
       .ctrl = {2},
       .host = true,
       .inclusive = 10},
      {.id = 4, .name = "next", .start = 1120, .end = 1130, .data = {3}, .host = true, .inclusive = 10},
  }));
  EXPECT_EQ(times_of(path),
            (Times{{"outer", 10 + 40}, {"inner", 10 + 30}, {"leaf", 10}, {"untraced", 20}, {"next", 10}}));
}

TEST(CriticalPath, Phases) {
  const auto phase = [](std::string_view name) {
    return [=](TraceNode& node) { node.attributes.add_text("phase", name); };
  };
  const CriticalPath path = critical_path(
      *timeline_for_tests({{.id = 1, .start = 1, .end = 3, .more = phase("forward")},
                           {.id = 2, .start = 3, .end = 9, .data = {1}, .more = phase("backward")}}));
  ASSERT_EQ(path.phases.size(), 2);
  EXPECT_EQ(path.phases[0].phase, "backward");
  EXPECT_EQ(path.phases[0].time, Nanoseconds{6});
}

TEST(CriticalPath, TimesThatContradictTheDependenciesDoNotLeadRoundInACircle) {
  // 1 depends on 2, which ran after it on the same lane.
  const CriticalPath path = critical_path(*timeline_for_tests({{.id = 2, .start = 10, .end = 20},
                                                               {.id = 1, .start = 1, .end = 5, .data = {2}},
                                                               {.id = 3, .start = 20, .end = 21}}));
  EXPECT_EQ(path.end, Nanoseconds{21});
  EXPECT_LE(path.nodes, 3);
}

// Reference: from the end, look through all nodes for the one to go back to; add up what each nanosecond is
// spent on.
TEST(CriticalPath, AgreesWithLookingThroughAllNodes) {
  for (std::uint64_t seed = 300; seed < 340; ++seed) {
    std::vector<NodeForTests> nodes = random_device_nodes(seed, 40, 400);
    // Dependencies that were kept.
    for (NodeForTests& node : nodes)
      std::erase_if(node.data, [&](std::uint64_t id) { return nodes[id - 1].end > node.start; });
    const auto timeline = timeline_for_tests(nodes);
    std::set<std::uint64_t> parents;
    for (const NodeForTests& node : nodes) parents.insert(node.data.begin(), node.data.end());
    const NodeForTests* now = nullptr;
    for (const NodeForTests& node : nodes)
      if (!parents.contains(node.id) && (now == nullptr || node.end >= now->end)) now = &node;
    Times expected;
    std::int64_t until = now->end;
    const std::int64_t end = until;
    while (now != nullptr) {
      if (until > now->start) expected[now->name] += until - now->start;
      until = std::min(until, now->start);
      const NodeForTests* before = nullptr;  // on the stream
      for (const NodeForTests& node : nodes)
        if (node.stream == now->stream && std::pair(node.start, node.id) < std::pair(now->start, now->id) &&
            (before == nullptr || std::pair(node.start, node.id) > std::pair(before->start, before->id)))
          before = &node;
      const NodeForTests* latest = nullptr;
      const auto better = [&](const NodeForTests& node) {
        return latest == nullptr || std::tuple(std::min(node.end, until), node.start, node.id) >
                                        std::tuple(std::min(latest->end, until), latest->start, latest->id);
      };
      for (const std::uint64_t id : now->data)
        if (better(nodes[id - 1])) latest = &nodes[id - 1];
      if (before != nullptr && before->end <= until && better(*before)) latest = before;
      if (latest != nullptr && latest->end < until) {
        expected["untraced"] += until - latest->end;
        until = latest->end;
      }
      now = latest;
    }
    Times found = times_of(critical_path(*timeline));
    std::erase_if(found, [](const auto& entry) { return entry.second == 0; });
    EXPECT_EQ(found, expected) << seed;
    const CriticalPath path = critical_path(*timeline);
    EXPECT_EQ((path.end - path.start).count(), end - until);
  }
}

struct RanksForTests {
  std::vector<TimelineForTests> timelines;
  std::vector<RankCalls> calls;
  std::vector<PathForest> forests;

  void add(const std::vector<NodeForTests>& nodes) {
    timelines.push_back(timeline_for_tests(nodes));
    calls.push_back(calls_of(*timelines.back(), static_cast<std::int64_t>(calls.size())));
    forests.emplace_back(*timelines.back(), calls.back());
  }
  std::vector<CriticalPath> paths() const { return critical_paths(forests, calls, Meetings(calls)); }
};

NodeForTests all_reduce(std::uint64_t id, std::int64_t start, std::int64_t end,
                        std::vector<std::uint64_t> data) {
  return {.id = id,
          .name = "reduce",
          .start = start,
          .end = end,
          .type = NodeType::kCommColl,
          .data = std::move(data),
          .more = collective_for_tests(CollectiveType::kAllReduce, 8, 1)};
}

TEST(CriticalPath, GoesAcrossRanks) {
  //  rank 0   a [10, 20)  reduce [20 ........ 70)  b [70, 100)
  //  rank 1   c [10 ............ 60)  reduce [60, 70)  d [70, 80)
  // Rank 0 ends last; its reduce waited for rank 1: b, 10 of transfer, then c.
  RanksForTests ranks;
  ranks.add({{.id = 1, .name = "a", .start = 10, .end = 20},
             all_reduce(2, 20, 70, {1}),
             {.id = 3, .name = "b", .start = 70, .end = 100, .data = {2}}});
  ranks.add({{.id = 1, .name = "c", .start = 10, .end = 60},
             all_reduce(2, 60, 70, {1}),
             {.id = 3, .name = "d", .start = 70, .end = 80, .data = {2}}});
  const std::vector<CriticalPath> paths = ranks.paths();
  ASSERT_EQ(paths.size(), 1);
  const CriticalPath& path = paths[0];
  EXPECT_EQ(times_of(path), (Times{{"b", 30}, {"reduce", 10}, {"c", 50}}));
  EXPECT_EQ(path.start, Nanoseconds{10});
  EXPECT_EQ(path.end, Nanoseconds{100});
  EXPECT_EQ(path.crossings, 1);
  ASSERT_EQ(path.ranks.size(), 2);
  EXPECT_EQ(path.ranks[0].length(), Nanoseconds{40});
  EXPECT_EQ(path.ranks[1].length(), Nanoseconds{50});
  EXPECT_EQ(path.communication, Nanoseconds{10});
}

TEST(CriticalPath, GoesFromAReceiveToItsSender) {
  const auto message = [](std::uint64_t id, NodeType type, std::int64_t start, std::int64_t end,
                          std::vector<std::uint64_t> data) -> NodeForTests {
    return {.id = id,
            .name = "message",
            .start = start,
            .end = end,
            .type = type,
            .data = std::move(data),
            .more = [=](TraceNode& node) {
              if (type == NodeType::kCommSend)
                add_comm_dst(node, 1);
              else
                add_comm_src(node, 0);
            }};
  };
  RanksForTests ranks;
  ranks.add({{.id = 1, .name = "first stage", .start = 10, .end = 50},
             message(2, NodeType::kCommSend, 50, 52, {1})});
  ranks.add({message(1, NodeType::kCommRecv, 10, 55, {}),
             {.id = 2, .name = "second stage", .start = 56, .end = 90, .data = {1}}});
  const std::vector<CriticalPath> paths = ranks.paths();
  ASSERT_EQ(paths.size(), 1);
  EXPECT_EQ(times_of(paths[0]),
            (Times{{"second stage", 34}, {"untraced", 1}, {"message", 5}, {"first stage", 40}}));
  EXPECT_EQ(paths[0].length(), Nanoseconds{80});
}

TEST(CriticalPath, StaysOnItsRankWhereClocksAreUnrelated) {
  RanksForTests ranks;
  ranks.add({{.id = 1, .name = "a", .start = 10, .end = 20}, all_reduce(2, 20, 70, {1})});
  ranks.add({{.id = 1, .name = "c", .start = 5010, .end = 5060}, all_reduce(2, 5060, 5070, {1})});
  const std::vector<CriticalPath> paths = ranks.paths();
  ASSERT_EQ(paths.size(), 2);
  EXPECT_EQ(times_of(paths[0]), (Times{{"a", 10}, {"reduce", 50}}));
  EXPECT_EQ(times_of(paths[1]), (Times{{"c", 50}, {"reduce", 10}}));
}

// On random ranks, whose collectives meet or do not: the path never goes forward in time, ends where the last
// rank ends, and its parts add up.
TEST(CriticalPath, AcrossRandomRanksPartsAddUp) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RanksForTests ranks;
    for (std::uint64_t rank = 0; rank < 2 + seed % 3; ++rank)
      ranks.add(random_device_nodes(100 * seed + rank, 40, 300));
    for (const CriticalPath& path : ranks.paths()) {
      EXPECT_EQ(path.length(), path.end - path.start) << seed;
      CriticalSums sums;
      for (const CriticalRank& rank : path.ranks) {
        sums.nodes += rank.nodes;
        sums.waiting += rank.length();
      }
      EXPECT_EQ(sums.waiting, path.length());
      EXPECT_EQ(sums.nodes, path.nodes);
      Nanoseconds rows, phases;
      for (const CriticalRow& row : path.rows) rows += row.time;
      for (const CriticalPhase& row : path.phases) phases += row.time;
      EXPECT_EQ(rows, path.length());
      EXPECT_EQ(phases, path.length());
    }
  }
}

TEST(CriticalPath, WithoutTimesTheLongestChain) {
  const auto work = [](std::int64_t flops) {
    return [=](TraceNode& node) { add_num_ops(node, Flops{flops}); };
  };
  const LongestChain chain = longest_chain(*timeline_for_tests({{.id = 1, .more = work(5)},
                                                                {.id = 2, .data = {1}, .more = work(1)},
                                                                {.id = 3, .data = {2}, .more = work(1)},
                                                                {.id = 4, .data = {1}, .more = work(9)}}));
  EXPECT_EQ(chain.nodes, 3);         // 1, 2, 3
  EXPECT_EQ(chain.work, Flops{14});  // 1, 4
}

}  // namespace
}  // namespace nadi::inline traces
