#include "nadi/analysis/comparison.h"

#include <gtest/gtest.h>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

NodeForTests op(std::string name, std::int64_t start, std::int64_t end, std::int64_t step,
                std::string layer = "") {
  static std::uint64_t next = 0;
  return {.id = ++next, .name = std::move(name), .start = start, .end = end, .more = [=](TraceNode& node) {
            node.attributes.add_int64("step", step);
            if (!layer.empty()) node.attributes.add_text("layer", layer);
          }};
}

TEST(Comparison, PerStepOfARank) {
  OpProfile before, after;
  // Two steps, 10 + 20 and 14 + 20; then one step of two ranks, 15 + 5 and 19 + 5.
  before.add(
      *timeline_for_tests({op("a", 1, 11, 0), op("b", 11, 31, 0), op("a", 40, 54, 1), op("b", 54, 74, 1)}));
  after.add(*timeline_for_tests({op("a", 1, 16, 7), op("c", 20, 25, 7)}));
  after.add(*timeline_for_tests({op("a", 1, 20, 7), op("c", 20, 25, 7)}));
  const Comparison comparison = compare(before, after);
  EXPECT_EQ(before.rank_steps(), 2);
  EXPECT_EQ(after.rank_steps(), 2);
  ASSERT_EQ(comparison.ops.size(), 3);  // the largest difference first
  EXPECT_EQ(comparison.ops[0].name, "b");
  EXPECT_EQ(comparison.ops[0].kind, ChangeKind::kGone);
  EXPECT_DOUBLE_EQ(comparison.ops[0].difference_ns(), -20);
  EXPECT_EQ(comparison.ops[1].name, "a");
  EXPECT_EQ(comparison.ops[1].kind, ChangeKind::kBoth);
  EXPECT_DOUBLE_EQ(comparison.ops[1].before.time_ns, 12);
  EXPECT_DOUBLE_EQ(comparison.ops[1].after.time_ns, 17);
  EXPECT_DOUBLE_EQ(comparison.ops[1].before.nodes, 1);
  EXPECT_EQ(comparison.ops[2].kind, ChangeKind::kNew);
  ASSERT_EQ(comparison.activities.size(), 1);
  EXPECT_DOUBLE_EQ(comparison.activities[0].before.time_ns, 32);
  EXPECT_DOUBLE_EQ(comparison.activities[0].after.time_ns, 22);
}

TEST(Comparison, OccurrencesByLayerAndPlace) {
  OpProfile before, after;
  before.add(*timeline_for_tests(
      {op("a", 1, 3, 0, "h.0"), op("a", 3, 6, 0, "h.1"), op("a", 6, 10, 0, "h.1"), op("b", 10, 11, 0)}));
  after.add(*timeline_for_tests({op("a", 1, 3, 0, "h.0"), op("a", 3, 6, 0, "h.1"), op("a", 6, 20, 0, "h.1"),
                                 op("b", 20, 21, 0), op("b", 21, 29, 0)}));
  const Comparison comparison = compare(before, after);
  ASSERT_EQ(comparison.occurrences.size(), 3);  // b occurs once more: which one is new cannot be told
  EXPECT_EQ(comparison.occurrences[0].layer, "h.1");
  EXPECT_EQ(comparison.occurrences[0].occurrence, 1);
  EXPECT_DOUBLE_EQ(comparison.occurrences[0].before_ns, 4);
  EXPECT_DOUBLE_EQ(comparison.occurrences[0].after_ns, 14);
}

TEST(Comparison, OfATraceWithItselfNothingChanged) {
  OpProfile profile;
  profile.add(*timeline_for_tests(random_device_nodes(9, 200, 1000)));
  const Comparison comparison = compare(profile, profile);
  EXPECT_EQ(comparison.occurrences.size(), 200);
  for (const Change& change : comparison.ops) EXPECT_EQ(change.difference_ns(), 0);
  for (const OccurrenceChange& change : comparison.occurrences) EXPECT_EQ(change.difference_ns(), 0);
}

}  // namespace
}  // namespace nadi::inline traces
