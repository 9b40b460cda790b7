#include "nadi/analysis/run_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "nadi/analysis/timeline_for_tests.h"
#include "nadi/base/error.h"

namespace nadi {
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

TEST(RunAnalysis, WithoutTimesOnlyWhatIsKnown) {
  const RunAnalysis run = analyze_for_tests({{{.id = 1}, {.id = 2, .data = {1}}}});
  EXPECT_EQ(run.ranks[0].clock, TimelineClock::kNone);
  EXPECT_EQ(run.ranks[0].chain.nodes, 2);
  EXPECT_EQ(run.ranks[0].critical_path.nodes, 0);
  EXPECT_EQ(run.stragglers.matched, 0);
}

TEST(RunAnalysis, NodesWithoutTimesAreCountedAndDoNotStretchTheSpan) {
  const RunAnalysis run = analyze_for_tests({{{.id = 1}, {.id = 2, .start = 100, .end = 120, .data = {1}}}});
  EXPECT_EQ(run.ranks[0].without_times, 1);
  EXPECT_EQ(run.ranks[0].start, Nanoseconds{100});
  EXPECT_EQ(run.ranks[0].breakdown.span, Nanoseconds{20});
  EXPECT_EQ(run.ranks[0].critical_path.start, Nanoseconds{100});
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
}  // namespace nadi
