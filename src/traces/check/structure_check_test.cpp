#include "nadi/check/structure_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "nadi/check/rules.h"
#include "nadi/check/traces_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Findings check(const Trace& trace, StructureFacts* facts = nullptr) {
  Findings findings(10);
  const CheckedTrace checked{.trace = &trace, .file = "t.et", .rank = 3};
  const StructureFacts result = check_structure(checked, findings);
  if (facts != nullptr) *facts = result;
  return findings;
}

TEST(StructureCheck, HasNothingToSayAboutAWholeTrace) {
  Trace trace;
  TraceNode node;
  fill_node(node, {.id = 0, .start = 10, .duration = 5});
  node.inputs.shapes = "[[1]]";
  trace.add(node);
  fill_node(node, {.id = 1, .data = {0}, .start = 15, .duration = 5});
  trace.add(node);
  StructureFacts facts;
  const Findings findings = check(trace, &facts);
  EXPECT_TRUE(findings.kept().empty());
  EXPECT_EQ(facts.edges, 1u);
  EXPECT_FALSE(facts.cycle);
}

TEST(StructureCheck, FindsEveryIdThatIsUsedTwice) {
  const Findings findings = check(trace_of({{.id = 5, .name = "a"},
                                            {.id = 1, .name = "b"},
                                            {.id = 5, .name = "c"},
                                            {.id = 5, .name = "d"},
                                            {.id = 1}}));
  EXPECT_EQ(found(findings, rule::kDuplicateId), 3u);
  EXPECT_THAT(messages(findings, rule::kDuplicateId),
              ElementsAre("its id is that of node 5 'a' already", "its id is that of node 5 'a' already",
                          "its id is that of node 1 'b' already"));
  EXPECT_EQ(findings.kept()[0].node_name, "c");
  EXPECT_EQ(findings.kept()[0].rank, 3);
}

TEST(StructureCheck, FindsDependenciesOnNothingAndOnOneself) {
  StructureFacts facts;
  const Findings findings =
      check(trace_of({{.id = 1, .ctrl = {9}, .data = {8, 7}}, {.id = 2, .data = {1, 2}}}), &facts);
  EXPECT_THAT(messages(findings, rule::kMissingDependency),
              ElementsAre("has a control dependency on node 9, which is not in the file",
                          "has a data dependency on node 8, which is not in the file",
                          "has a data dependency on node 7, which is not in the file"));
  EXPECT_THAT(messages(findings, rule::kSelfDependency), ElementsAre("has a data dependency on itself"));
  EXPECT_EQ(facts.missing_control, 1u);
  EXPECT_EQ(facts.missing_data, 2u);
  EXPECT_EQ(facts.data_cycle, 1u);
}

// 1 waits for 2, 2 for 3, 3 for 1, but 3 also for 2: the circle of two is shorter.
TEST(StructureCheck, PrintsTheShortestCircleOfAKnot) {
  StructureFacts facts;
  const Findings findings = check(trace_of({{.id = 1, .name = "a", .data = {2}},
                                            {.id = 2, .name = "b", .data = {3}},
                                            {.id = 3, .name = "c", .ctrl = {2}, .data = {1}},
                                            {.id = 4, .name = "d", .data = {3}}}),
                                  &facts);
  EXPECT_THAT(
      messages(findings, rule::kCycle),
      ElementsAre(
          "waits for itself through others: node 2 'b' -> node 3 'c' -> node 2; 3 nodes wait for each "
          "other in all"));
  EXPECT_EQ(facts.cycle, 1u);
  EXPECT_TRUE(facts.data_cycle);
}

TEST(StructureCheck, TellsCirclesOfDataFromOthers) {
  StructureFacts facts;
  const Findings findings = check(trace_of({{.id = 1, .ctrl = {2}},
                                            {.id = 2, .data = {1}},
                                            {.id = 10, .data = {11}},
                                            {.id = 11, .ctrl = {10}}}),
                                  &facts);
  EXPECT_EQ(found(findings, rule::kCycle), 2u);
  EXPECT_TRUE(facts.cycle);
  EXPECT_FALSE(facts.data_cycle);
}

// A circle of 100,000 nodes: no recursion, and only its ends are printed.
TEST(StructureCheck, StandsLongCircles) {
  Trace trace;
  TraceNode node;
  constexpr std::uint64_t kNodes = 100'000;
  for (std::uint64_t id = 0; id < kNodes; ++id) {
    fill_node(node, {.id = id, .data = {(id + 1) % kNodes}});
    trace.add(node);
  }
  const Findings findings = check(trace);
  ASSERT_EQ(messages(findings, rule::kCycle).size(), 1u);
  EXPECT_THAT(messages(findings, rule::kCycle)[0], HasSubstr("node 4 'a' -> (99992 more) -> node 99997 'a'"));
}

TEST(StructureCheck, FindsTimesThatCannotBe) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Findings findings = check(trace_of(
      {{.id = 1, .start = -1}, {.id = 2, .duration = -5}, {.id = 3, .start = kMost, .duration = 1}}));
  EXPECT_EQ(found(findings, rule::kNegativeTime), 2u);
  EXPECT_EQ(found(findings, rule::kTimeOverflow), 1u);
}

// Node 1 ends at 100; 2 starts 60 before that, 3 starts 10 before, 4 in time.
TEST(StructureCheck, SaysByHowMuchNodesStartTooEarly) {
  const Findings findings = check(trace_of({{.id = 1, .name = "long", .start = 50, .duration = 50},
                                            {.id = 2, .data = {1}, .start = 40, .duration = 1},
                                            {.id = 3, .ctrl = {1}, .start = 90, .duration = 1},
                                            {.id = 4, .data = {1}, .start = 100, .duration = 1}}));
  EXPECT_EQ(found(findings, rule::kStartsTooEarly), 1u);
  ASSERT_EQ(messages(findings, rule::kStartsTooEarly).size(), 1u);
  EXPECT_EQ(messages(findings, rule::kStartsTooEarly)[0],
            "2 dependencies were not waited for; at worst, it starts 60 ns before node 1 'long' has ended");
}

TEST(StructureCheck, DoesNotTakeMissingStartsForZero) {
  const Findings findings =
      check(trace_of({{.id = 1, .duration = 50}, {.id = 2, .data = {1}, .duration = 50}}));
  EXPECT_EQ(found(findings, rule::kStartsTooEarly), 0u);
}

// A host op of 100 ns, of which 30 are its own, contains one that starts after 10 ns.
TEST(StructureCheck, KnowsThatAnOpContainsOthers) {
  const Findings findings =
      check(trace_of({{.id = 1, .start = 1000, .duration = 30, .inclusive = 100},
                      {.id = 2, .ctrl = {1}, .data = {1}, .start = 1010, .duration = 70}}));
  EXPECT_EQ(found(findings, rule::kStartsTooEarly), 0u);
}

// The same where a file says so once, since simulators do not read what each op contains: then only times of
// the device are compared.
TEST(StructureCheck, KnowsThatAFileHasNothingButExclusiveDurations) {
  for (const bool on_cpu : {true, false}) {
    Trace trace;
    trace.metadata.attributes.add_text("host_durations", "exclusive");
    TraceNode node;
    fill_node(node, {.id = 1, .start = 1000, .duration = 30});
    add_is_cpu_op(node, on_cpu);
    trace.add(node);
    fill_node(node, {.id = 2, .data = {1}, .start = 1010, .duration = 70});
    add_is_cpu_op(node, false);
    trace.add(node);
    EXPECT_EQ(found(check(trace), rule::kStartsTooEarly), on_cpu ? 0u : 1u);
  }
}

// A call of 100 ns waits for what ends after 90 of them; another one's own time begins before that.
TEST(StructureCheck, KnowsThatACallWaitsBeforeItRuns) {
  const std::vector<CheckedNodeForTests> waits{
      {.id = 1, .start = 1000, .duration = 140},
      {.id = 2, .data = {1}, .start = 1050, .duration = 10, .inclusive = 100}};
  EXPECT_EQ(found(check(trace_of(waits)), rule::kStartsTooEarly), 0u);
  const std::vector<CheckedNodeForTests> does_not{
      {.id = 1, .start = 1000, .duration = 141},
      {.id = 2, .data = {1}, .start = 1050, .duration = 10, .inclusive = 100}};
  EXPECT_EQ(found(check(trace_of(does_not)), rule::kStartsTooEarly), 1u);
}

TEST(StructureCheck, CountsWhatIsMissing) {
  const Findings findings = check(trace_of({{.id = 1, .type = NodeType::kInvalid},
                                            {.id = 2},
                                            {.id = 3, .duration = 5},
                                            {.id = 4, .data = {3}, .duration = 5}}));
  EXPECT_THAT(messages(findings, rule::kInvalidType),
              ElementsAre("1 of 4 nodes have no type; the first is this one"));
  EXPECT_THAT(
      messages(findings, rule::kOrphan),
      ElementsAre("2 of 4 nodes wait for nothing, and nothing waits for them; the first is this one"));
  EXPECT_THAT(messages(findings, rule::kNoTimes),
              ElementsAre("2 of 4 nodes have neither start nor duration"));
  EXPECT_THAT(messages(findings, rule::kNoWork),
              ElementsAre(HasSubstr("1 of 4 nodes compute and have neither")));
  EXPECT_EQ(found(findings, rule::kNoTensors), 1u);
}

TEST(StructureCheck, KeepsAFewFindingsAndCountsAll) {
  std::vector<CheckedNodeForTests> nodes;
  for (std::uint64_t id = 0; id < 50; ++id) nodes.push_back({.id = id, .data = {100 + id}});
  const Findings findings = check(trace_of(nodes));
  EXPECT_EQ(messages(findings, rule::kMissingDependency).size(), 10u);
  EXPECT_EQ(found(findings, rule::kMissingDependency), 50u);
  EXPECT_EQ(findings.total(Severity::kError), 50u);
}

}  // namespace
}  // namespace nadi::inline traces
