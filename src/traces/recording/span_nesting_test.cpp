#include "nadi/recording/span_nesting.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace nadi::inline traces {
namespace {

using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;

Times separated(const Times& times, std::optional<Nanoseconds> next = {}) {
  std::vector<SpanTimes> spans;
  for (const auto& [start, end] : times) spans.push_back({Nanoseconds{start}, Nanoseconds{end}});
  separate_ends(spans, next);
  Times result;
  for (const SpanTimes& span : spans) result.emplace_back(span.start.count(), span.end.count());
  return result;
}

// The call keeps its end; the layer around it ends 2 ns later, the step around that 4 ns later.
TEST(SpanNesting, MakesRoomAroundLeaves) {
  EXPECT_EQ(separated({{0, 100}, {0, 100}, {10, 100}}), (Times{{0, 104}, {0, 102}, {10, 100}}));
}

TEST(SpanNesting, LeavesAloneWhatIsApart) {
  const Times apart{{0, 100}, {10, 50}, {60, 98}, {110, 120}};
  EXPECT_EQ(separated(apart), apart);
}

// The next span starts when the first ends: the first ends 2 ns before, and what is in it 4 ns before.
TEST(SpanNesting, ShortensWhereTheNextSpanStartsAtOnce) {
  EXPECT_EQ(separated({{0, 100}, {10, 100}, {100, 200}}), (Times{{0, 98}, {10, 96}, {100, 200}}));
  EXPECT_EQ(separated({{0, 100}, {10, 100}}, Nanoseconds{103}), (Times{{0, 101}, {10, 99}}));
}

TEST(SpanNesting, NeverEndsASpanBeforeItStarts) {
  EXPECT_EQ(separated({{0, 1}, {0, 1}, {0, 1}, {1, 2}}), (Times{{0, 0}, {0, 0}, {0, 0}, {1, 2}}));
}

TEST(SpanNesting, LeavesOverlapsAsTheyAre) {
  const Times overlap{{0, 100}, {50, 150}, {60, 80}};
  EXPECT_EQ(separated(overlap), overlap);
}

}  // namespace
}  // namespace nadi::inline traces
