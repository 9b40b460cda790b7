#include "nadi/draw/timeline_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "nadi/base/error.h"

namespace nadi::inline show {
namespace {

using testing::ElementsAre;

TEST(TimelineView, LabelsDetailsAndColumnsAreKeptOnce) {
  TimelineView view;
  const std::uint32_t gemm = view.label("gemm", TimelineKind::kCompute);
  EXPECT_NE(view.label("gemm", TimelineKind::kHost), gemm);
  EXPECT_EQ(view.label("gemm", TimelineKind::kCompute), gemm);
  EXPECT_EQ(view.detail({}), 0u);
  const std::uint32_t shape = view.detail({{"shape", "[4]"}, {"type", "bf16"}});
  EXPECT_EQ(view.detail({{"shape", "[4]"}, {"type", "bf16"}}), shape);
  EXPECT_NE(view.detail({{"shape", "[4]"}}), shape);
  std::vector<std::string_view> texts;
  for (const std::uint32_t text : view.detail_texts(shape)) texts.push_back(view.text(text));
  EXPECT_THAT(texts, ElementsAre("shape", "[4]", "type", "bf16"));
  EXPECT_EQ(view.number_column("bytes", "B"), view.number_column("bytes", "B"));
  EXPECT_NE(view.number_column("bytes", "B"), view.number_column("bytes"));
}

TEST(TimelineView, EventsKeepWhatTheyCarryAlsoWhereOthersCarryNothing) {
  TimelineView view;
  const std::uint32_t lane = view.add_lane({.name = "stream 7", .group = view.add_group("rank 0")});
  const std::uint32_t label = view.label("forward", TimelineKind::kForward);
  const std::uint32_t bytes = view.number_column("bytes", "B");
  view.add(lane, {.start = 5, .duration = 1, .label = label});
  const TimelineNumber number{.column = bytes, .value = 17};
  const TimelineEventRef second = view.add(
      lane,
      {.start = 9, .duration = 2, .label = label, .micro_batch = 3, .chunk = 1, .numbers = {&number, 1}});
  EXPECT_EQ(second, (TimelineEventRef{.lane = lane, .index = 1}));
  view.add(lane, {.start = 20, .label = label});
  EXPECT_THAT(view.events(lane).micro_batches, ElementsAre(kNoMicroBatch, 3));
  EXPECT_THAT(view.events(lane).chunks, ElementsAre(0, 1));
  ASSERT_EQ(view.events(lane).numbers[bytes].size(), 1u);
  EXPECT_EQ(view.events(lane).numbers[bytes][0].index, 1u);
  EXPECT_EQ(view.event_count(), 3u);
}

TEST(TimelineView, RefusesTimesThatCannotBe) {
  TimelineView view;
  const std::uint32_t lane = view.add_lane({.group = view.add_group("rank 0")});
  const std::uint32_t label = view.label("gemm", TimelineKind::kCompute);
  EXPECT_THROW(view.add(lane, {.start = 0, .duration = -1, .label = label}), Error);
  EXPECT_THROW(
      view.add(lane, {.start = std::numeric_limits<std::int64_t>::max(), .duration = 1, .label = label}),
      Error);
}

}  // namespace
}  // namespace nadi::inline show
