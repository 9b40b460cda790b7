#include "nadi/analysis/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/analysis/timeline_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;

std::function<void(TraceNode&)> text(std::string_view name, std::string_view value) {
  return [=](TraceNode& node) { node.attributes.add_text(name, value); };
}

std::vector<std::string> lane_names(const Timeline& timeline) {
  std::vector<std::string> names;
  for (const Lane& lane : timeline.lanes()) names.push_back(lane.name);
  return names;
}

TEST(Timeline, TellsWhatNodesDo) {
  const auto timeline = timeline_for_tests({
      {.id = 1, .name = "aten::mm", .end = 1, .host = true},
      {.id = 2, .name = "gemm", .end = 1},
      {.id = 3, .name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", .end = 1},
      {.id = 4, .name = "x", .end = 1, .type = NodeType::kCommSend},
      {.id = 5, .name = "Memset (Device)", .end = 1},
      {.id = 6, .name = "x", .end = 1, .type = NodeType::kMemStore},
      {.id = 7, .name = "copy", .end = 1, .more = text("category", "gpu_memcpy")},
      {.id = 8, .name = "x", .end = 1, .type = NodeType::kMetadata},
  });
  const Activity expected[] = {Activity::kHost,          Activity::kCompute, Activity::kCommunication,
                               Activity::kCommunication, Activity::kMemory,  Activity::kMemory,
                               Activity::kMemory,        Activity::kNone};
  for (std::uint32_t row = 0; row < 8; ++row) EXPECT_EQ(timeline->activity(row), expected[row]) << row;
  ASSERT_EQ(timeline->communications().size(), 2);
  EXPECT_EQ(kind_of(timeline->communications()[0]), "unknown");
  EXPECT_EQ(kind_of(timeline->communications()[1]), "SEND");
}

TEST(Timeline, LanesAreStreamsAndThreads) {
  const auto on = [](std::int64_t device, std::int64_t stream) {
    return [=](TraceNode& node) {
      node.attributes.add_int64("device", device);
      node.attributes.add_int64("stream", stream);
      node.attributes.add_int64("stream", 99);  // of two the first counts
    };
  };
  const auto timeline = timeline_for_tests({
      {.id = 1, .start = 5, .end = 6, .more = on(0, 7)},
      {.id = 2, .start = 1, .end = 2, .more = on(0, 7)},
      {.id = 3, .start = 1, .end = 2, .more = on(1, 7)},
      {.id = 4,
       .start = 1,
       .end = 2,
       .host = true,
       .more = [](TraceNode& node) { node.attributes.add_int64("thread", 12); }},
  });
  EXPECT_THAT(lane_names(*timeline), ElementsAre("stream 7", "device 1 stream 7", "thread 12"));
  EXPECT_THAT(timeline->rows_of(0), ElementsAre(1, 0));  // by start
  EXPECT_TRUE(timeline->lanes()[2].host);
}

TEST(Timeline, WithoutStreamsNodesThatOverlapAreOnLanesOfTheirOwn) {
  // 1 and 2 overlap; 3 starts when 1 has ended, 4 while both lanes are taken.
  const auto timeline = timeline_for_tests({{.id = 1, .start = 1, .end = 5},
                                            {.id = 2, .start = 2, .end = 9},
                                            {.id = 3, .start = 5, .end = 8},
                                            {.id = 4, .start = 6, .end = 7},
                                            {.id = 5, .start = 6, .end = 7, .type = NodeType::kCommColl}});
  EXPECT_THAT(lane_names(*timeline), ElementsAre("compute", "communication", "compute 2", "compute 3"));
  EXPECT_THAT(timeline->rows_of(0), ElementsAre(0, 2));
  EXPECT_THAT(timeline->rows_of(2), ElementsAre(1));
  EXPECT_THAT(timeline->rows_of(3), ElementsAre(3));
  EXPECT_THAT(timeline->rows_of(1), ElementsAre(4));
}

TEST(Timeline, KernelsHaveTheirLaunchAndWhatTheirOpSays) {
  const auto timeline = timeline_for_tests(
      {{.id = 1, .start = 1, .end = 2, .host = true, .inclusive = 8, .more = text("phase", "backward")},
       {.id = 2, .start = 2, .end = 4, .data = {1}, .ctrl = {1}, .host = true},
       {.id = 3, .start = 5, .end = 9, .data = {1, 2}, .ctrl = {1}, .stream = 7}});
  EXPECT_EQ(timeline->enclosing(1), 0);
  EXPECT_EQ(timeline->enclosing(2), 0);
  EXPECT_EQ(timeline->launch(2), 1);
  EXPECT_EQ(timeline->launch(1), kNoRow);
  EXPECT_EQ(timeline->text(timeline->phase(2)), "backward");
  EXPECT_EQ(timeline->inclusive_end(0), Nanoseconds{9});
  EXPECT_EQ(timeline->inclusive_end(1), Nanoseconds{4});
}

TEST(Timeline, OnlyAStep) {
  const auto step = [](std::int64_t number) {
    return [=](TraceNode& node) { node.attributes.add_int64("step", number); };
  };
  const auto timeline = timeline_for_tests({{.id = 1, .start = 1, .end = 2, .more = step(5)},
                                            {.id = 2, .start = 2, .end = 3, .more = step(3)},
                                            {.id = 3, .start = 3, .end = 4}},
                                           {.step = 3});
  EXPECT_THAT(timeline->steps(), ElementsAre(3, 5));
  EXPECT_EQ(timeline->activity(0), Activity::kNone);
  EXPECT_EQ(timeline->activity(1), Activity::kCompute);
  EXPECT_EQ(timeline->activity(2), Activity::kNone);
  EXPECT_EQ(timeline->step(0), 5);
}

TEST(Timeline, WithoutStartsItIsReplayed) {
  const auto timeline = timeline_for_tests({{.id = 1, .end = 4}, {.id = 2, .end = 3, .data = {1}}});
  EXPECT_EQ(timeline->clock(), TimelineClock::kReplayed);
  EXPECT_EQ(timeline->start(1), Nanoseconds{4});
  EXPECT_EQ(timeline->end(1), Nanoseconds{7});
  EXPECT_EQ(timeline_for_tests({{.id = 1}, {.id = 2}})->clock(), TimelineClock::kNone);
}

}  // namespace
}  // namespace nadi::inline traces
