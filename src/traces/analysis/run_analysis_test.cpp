#include "nadi/analysis/run_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "nadi/analysis/timeline_for_tests.h"
#include "nadi/base/error.h"

namespace nadi::inline traces {
namespace {

using testing::HasSubstr;

RunAnalysis analyze_for_tests(const std::vector<std::vector<NodeForTests>>& ranks,
                              const AnalysisOptions& options = {}) {
  RunAnalysis run;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto trace = trace_for_tests(ranks[rank]);
    add_rank(run, {.trace = *trace, .file = "t.et", .rank = static_cast<std::int64_t>(rank)}, options);
  }
  finish(run);
  return run;
}

NodeForTests all_reduce(std::uint64_t id, std::int64_t start, std::int64_t end) {
  return {.id = id,
          .start = start,
          .end = end,
          .type = NodeType::kCommColl,
          .more = collective_for_tests(CollectiveType::kAllReduce, 100, 3)};
}

TEST(RunAnalysis, GroupsHaveAsManyMembersAsRanksThatUseThem) {
  const RunAnalysis run = analyze_for_tests({{all_reduce(1, 1, 11)}, {all_reduce(1, 1, 11)}});
  ASSERT_EQ(run.ranks.size(), 2);
  EXPECT_EQ(run.ranks[0].communications[0].members, 2);
  EXPECT_EQ(run.ranks[0].communications[0].bus_bytes(), 100.0);
  EXPECT_EQ(run.stragglers.matched, 1);
  EXPECT_EQ(run.ops[0].time.count(), 2);
}

// Rank 1 comes 6 late; its clock counts from another moment, as its metadata say.
TEST(RunAnalysis, WaitingIsToldFromTransferWhereverClocksCountFrom) {
  RunAnalysis run;
  const auto after = [](NodeForTests node) {
    node.data = {9};
    return node;
  };
  const auto first = trace_for_tests({{.id = 9, .start = 1, .end = 11}, after(all_reduce(1, 11, 31))});
  const auto second = trace_for_tests({{.id = 9, .start = 501, .end = 517}, after(all_reduce(1, 517, 531))});
  first->metadata.attributes.add_int64("base_time_ns", 1'000'500);
  second->metadata.attributes.add_int64("base_time_ns", 1'000'000);
  add_rank(run, {.trace = *second, .file = "b.et", .rank = 1}, {});
  add_rank(run, {.trace = *first, .file = "a.et", .rank = 0}, {});
  finish(run);
  EXPECT_EQ(run.ranks[0].rank, 0);  // whatever the order in which they were added
  EXPECT_EQ(run.stragglers.measure, WaitMeasure::kArrival);
  EXPECT_EQ(run.ranks[0].communications[0].waited, Nanoseconds{6});
  EXPECT_EQ(run.ranks[0].communications[0].transfer(), Nanoseconds{14});
  EXPECT_EQ(run.ranks[0].breakdown.late_rank, Nanoseconds{6});
  EXPECT_EQ(run.ranks[0].breakdown.transfer, Nanoseconds{14});
  EXPECT_EQ(run.ranks[1].breakdown.late_rank, Nanoseconds{});
  EXPECT_TRUE(run.path_crosses_ranks);
  ASSERT_EQ(run.paths.size(), 1);
  EXPECT_EQ(run.paths[0].compute, Nanoseconds{16});  // that of rank 1
  EXPECT_EQ(run.paths[0].communication, Nanoseconds{14});
}

TEST(RunAnalysis, WithoutTimesOnlyWhatIsKnown) {
  const RunAnalysis run = analyze_for_tests({{{.id = 1}, {.id = 2, .data = {1}}}});
  EXPECT_EQ(run.ranks[0].clock, TimelineClock::kNone);
  EXPECT_EQ(run.ranks[0].chain.nodes, 2);
  EXPECT_TRUE(run.paths.empty());
  EXPECT_EQ(run.stragglers.matched, 0);
}

TEST(RunAnalysis, NodesWithoutTimesAreCountedAndDoNotStretchTheSpan) {
  const RunAnalysis run = analyze_for_tests({{{.id = 1}, {.id = 2, .start = 100, .end = 120, .data = {1}}}});
  EXPECT_EQ(run.ranks[0].without_times, 1);
  EXPECT_EQ(run.ranks[0].start, Nanoseconds{100});
  EXPECT_EQ(run.ranks[0].breakdown.span, Nanoseconds{20});
  ASSERT_EQ(run.paths.size(), 1);
  EXPECT_EQ(run.paths[0].start, Nanoseconds{100});
}

TEST(RunAnalysis, AStepThatIsNotThere) {
  const auto step = [](TraceNode& node) { node.attributes.add_int64("step", 3); };
  try {
    analyze_for_tests({{{.id = 1, .start = 1, .end = 2, .more = step}}}, {.step = 4});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_EQ(error.message(), "no node of t.et is of step 4");
    EXPECT_EQ(error.hint(), "it has 3");
  }
}

TEST(RunAnalysis, TimesThatDoNotFitAreTheFilesFault) {
  constexpr std::int64_t kLong = std::numeric_limits<std::int64_t>::max() - 10;
  try {
    analyze_for_tests({{{.id = 1, .start = 1, .end = kLong}, {.id = 2, .start = 1, .end = kLong}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("t.et: a count of nanoseconds exceeds 2^63 - 1, added up"));
  }
}

TEST(RunAnalysis, AnEmptyTrace) {
  const RunAnalysis run = analyze_for_tests({{}});
  EXPECT_EQ(run.ranks[0].nodes, 0);
}

}  // namespace
}  // namespace nadi::inline traces
