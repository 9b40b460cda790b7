#include "nadi/analysis/stragglers.h"

#include <gtest/gtest.h>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

struct CallForTests {
  std::int64_t start, end;
  CollectiveType type = CollectiveType::kAllReduce;
  std::uint32_t group = 0;
};

RankCalls rank_for_tests(std::int64_t rank, const std::vector<CallForTests>& calls, std::int64_t clock = 0) {
  std::vector<NodeForTests> nodes;
  for (const CallForTests& call : calls)
    nodes.push_back({.id = nodes.size() + 1,
                     .start = call.start + clock,
                     .end = call.end + clock,
                     .type = NodeType::kCommColl,
                     .more = collective_for_tests(call.type, 8, call.group)});
  return calls_of(*timeline_for_tests(nodes), rank);
}

Stragglers find_stragglers(const std::vector<RankCalls>& ranks) {
  return nadi::find_stragglers(ranks, Meetings(ranks));
}

TEST(Stragglers, ByArrival) {
  // First: ranks come at 10, 30, 20; second: at 110, 100, 140.
  const Stragglers found =
      find_stragglers({rank_for_tests(0, {{10, 50}, {110, 150}}), rank_for_tests(1, {{30, 50}, {100, 150}}),
                       rank_for_tests(2, {{20, 50}, {140, 150}})});
  EXPECT_EQ(found.measure, WaitMeasure::kArrival);
  EXPECT_EQ(found.matched, 2);
  EXPECT_EQ(found.unmatched, 0);
  ASSERT_EQ(found.ranks.size(), 3);
  EXPECT_EQ(found.ranks[0].last, 0);
  EXPECT_EQ(found.ranks[0].suffered, Nanoseconds{20 + 30});
  EXPECT_EQ(found.ranks[1].last, 1);
  EXPECT_EQ(found.ranks[1].caused, Nanoseconds{20 + 10});
  EXPECT_EQ(found.ranks[1].suffered, Nanoseconds{40});
  EXPECT_EQ(found.ranks[2].caused, Nanoseconds{30 + 40});
  EXPECT_EQ(found.waited, Nanoseconds{100});
  ASSERT_EQ(found.collectives.size(), 2);
  EXPECT_EQ(found.collectives[0].number, 1);  // the most waited first
  EXPECT_EQ(found.collectives[0].last_rank, 2);
  EXPECT_EQ(found.collectives[0].first_rank, 1);
  EXPECT_EQ(found.collectives[0].longest_wait, Nanoseconds{40});
}

TEST(Stragglers, ByDurationWhereClocksAreUnrelated) {
  const Stragglers found = find_stragglers(
      {rank_for_tests(0, {{10, 50}, {110, 150}}), rank_for_tests(1, {{30, 50}, {100, 150}}, 1'000'000)});
  EXPECT_EQ(found.impossible, 2);
  EXPECT_EQ(found.measure, WaitMeasure::kDuration);
  EXPECT_EQ(found.ranks[0].suffered, Nanoseconds{20});  // 40 there, 20 the other
  EXPECT_EQ(found.ranks[1].suffered, Nanoseconds{10});  // 50 there, 40 the other
  EXPECT_EQ(found.ranks[0].caused, Nanoseconds{10});
}

TEST(Stragglers, GroupsAreMatchedEachForItself) {
  const Stragglers found = find_stragglers(
      {rank_for_tests(0, {{.start = 10, .end = 50, .group = 1}, {.start = 60, .end = 90, .group = 2}}),
       rank_for_tests(1, {{.start = 20, .end = 50, .group = 1}}),
       rank_for_tests(2, {{.start = 65, .end = 90, .group = 2}, {.start = 95, .end = 96, .group = 2}})});
  EXPECT_EQ(found.matched, 2);
  EXPECT_EQ(found.unmatched, 1);  // the second of group 2
  EXPECT_EQ(found.ranks[0].suffered, Nanoseconds{10 + 5});
}

TEST(Stragglers, DisagreementAboutTheKindEndsTheMatching) {
  const CallForTests reduce{.start = 10, .end = 50},
      barrier{.start = 60, .end = 70, .type = CollectiveType::kBarrier};
  const Stragglers found = find_stragglers(
      {rank_for_tests(0, {reduce, barrier, {80, 90}}), rank_for_tests(1, {reduce, {60, 70}, {80, 90}})});
  EXPECT_EQ(found.matched, 1);
  EXPECT_EQ(found.unmatched, 4);
}

TEST(Stragglers, OneRankWaitsForNobody) {
  EXPECT_EQ(find_stragglers({rank_for_tests(0, {{10, 50}})}).matched, 0);
  EXPECT_EQ(find_stragglers({}).matched, 0);
}

}  // namespace
}  // namespace nadi::inline traces
