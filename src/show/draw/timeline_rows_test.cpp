#include "nadi/draw/timeline_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace nadi::inline show {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TimelineRows rows_of(const std::vector<std::pair<std::int64_t, std::int64_t>>& events) {
  std::vector<std::int64_t> starts, durations;
  for (const auto& [start, duration] : events) {
    starts.push_back(start);
    durations.push_back(duration);
  }
  return timeline_rows(starts, durations);
}

TEST(TimelineRows, OneAfterTheOtherIsOneRow) {
  const TimelineRows rows = rows_of({{20, 5}, {0, 10}, {10, 10}});
  EXPECT_THAT(rows.order, ElementsAre(1, 2, 0));
  EXPECT_THAT(rows.ends, ElementsAre(3));
}

TEST(TimelineRows, CallsAreBelowTheirCallers) {
  // caller [0, 100), callee [0, 50), its callee [10, 20), and a second callee [60, 70)
  const TimelineRows rows = rows_of({{10, 10}, {0, 50}, {0, 100}, {60, 10}});
  EXPECT_THAT(rows.order, ElementsAre(2, 1, 3, 0));
  EXPECT_THAT(rows.ends, ElementsAre(1, 3, 4));
}

TEST(TimelineRows, NothingIsNoRow) {
  EXPECT_THAT(rows_of({}).ends, IsEmpty());
}

TEST(TimelineRows, MomentsTakeNoRoom) {
  const TimelineRows rows = rows_of({{5, 0}, {5, 0}, {5, 3}});
  EXPECT_EQ(rows.order.size(), 3u);
  EXPECT_THAT(rows.ends, ElementsAre(1, 3));
}

TEST(TimelineRows, NoMoreRowsThanThereMayBe) {
  std::vector<std::pair<std::int64_t, std::int64_t>> events;
  for (int i = 0; i < 200; ++i) events.emplace_back(i, 1000);
  const TimelineRows rows = rows_of(events);
  EXPECT_EQ(rows.ends.size(), kMostTimelineRows);
  EXPECT_EQ(rows.ends.back(), 200u);
}

TEST(TimelineRows, NothingOverlapsInARow) {
  std::mt19937 random(17);
  std::vector<std::int64_t> starts, durations;
  for (int i = 0; i < 2000; ++i) {
    starts.push_back(static_cast<std::int64_t>(random() % 100'000));
    durations.push_back(static_cast<std::int64_t>(random() % 500));
  }
  const TimelineRows rows = timeline_rows(starts, durations);
  std::uint32_t place = 0;
  for (const std::uint32_t end : rows.ends) {
    std::int64_t busy = -1;
    for (; place < end; ++place) {
      EXPECT_GE(starts[rows.order[place]], busy);
      busy = starts[rows.order[place]] + durations[rows.order[place]];
    }
  }
  EXPECT_EQ(place, 2000u);
}

}  // namespace
}  // namespace nadi::inline show
