#include "nadi/draw/pipeline_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nadi::inline show {
namespace {

using testing::SizeIs;

PipelineBox box_for_tests(bool backward, std::int32_t micro_batch, std::int64_t start, std::int64_t end,
                          std::int64_t step = 0) {
  return {.backward = backward,
          .micro_batch = micro_batch,
          .step = step,
          .start = Nanoseconds{start},
          .end = Nanoseconds{end}};
}

// Two stages, two micro-batches, each pass of 10 ns, 1F1B:
//   stage 0:  F0 F1 .. B0 .. B1      60 ns, of which 4 x 10 work: 20 of 60 are bubble
//   stage 1:  .. F0 B0 F1 B1 ..      likewise
// which is (p - 1) / (m + p - 1) = 1 / 3.
std::vector<PipelineStage> two_stages(std::int64_t offset = 0, std::int64_t step = 0) {
  std::vector<PipelineStage> stages(2);
  stages[0].boxes = {box_for_tests(false, 0, offset + 0, offset + 10, step),
                     box_for_tests(false, 1, offset + 10, offset + 20, step),
                     box_for_tests(true, 0, offset + 30, offset + 40, step),
                     box_for_tests(true, 1, offset + 50, offset + 60, step)};
  stages[1].stage = stages[1].rank = 1;
  stages[1].boxes = {box_for_tests(false, 0, offset + 10, offset + 20, step),
                     box_for_tests(true, 0, offset + 20, offset + 30, step),
                     box_for_tests(false, 1, offset + 30, offset + 40, step),
                     box_for_tests(true, 1, offset + 40, offset + 50, step)};
  return stages;
}

TEST(PipelineView, BubblesOfTheTextbookSchedule) {
  TimelineView view;
  const PipelineSummary summary = draw_pipeline(view, two_stages());
  EXPECT_TRUE(view.pipeline);
  EXPECT_EQ(summary.stage_count, 2);
  EXPECT_EQ(summary.micro_batches, 2);
  EXPECT_EQ(summary.steps, 1);
  EXPECT_EQ(summary.boxes, 8);
  ASSERT_THAT(summary.stages, SizeIs(2));
  for (const PipelineStageSummary& stage : summary.stages) {
    EXPECT_EQ(stage.window, Nanoseconds{60});
    EXPECT_EQ(stage.bubble, Nanoseconds{20});
    EXPECT_EQ(stage.forward, Nanoseconds{20});
    EXPECT_EQ(stage.backward, Nanoseconds{20});
  }
  EXPECT_DOUBLE_EQ(summary.bubble_share(), 1.0 / 3);
  EXPECT_EQ(summary.start, Nanoseconds{0});
  EXPECT_EQ(summary.end, Nanoseconds{60});
  ASSERT_EQ(view.lane_count(), 2U);
  EXPECT_EQ(view.lane(0).name, "stage 0");
  EXPECT_EQ(view.lane(0).note, "bubble 33.3%");
  // F0 and F1 to stage 1, B0 and B1 back.
  EXPECT_THAT(view.links(), SizeIs(4));
}

// What the boxes and bubbles of a stage last together is its window.
TEST(PipelineView, BoxesAndBubblesFillTheWindow) {
  TimelineView view;
  std::vector<PipelineStage> stages = two_stages();
  stages[1].boxes.pop_back();
  draw_pipeline(view, std::move(stages));
  for (std::uint32_t lane = 0; lane < 2; ++lane) {
    std::int64_t sum = 0;
    for (const std::int64_t duration : view.events(lane).durations) sum += duration;
    EXPECT_EQ(sum, 60) << lane;
  }
}

// Between two steps there is no bubble: each step has its own window.
TEST(PipelineView, StepsAreApart) {
  std::vector<PipelineStage> stages = two_stages();
  const std::vector<PipelineStage> later = two_stages(1000, 1);
  for (std::size_t i = 0; i < 2; ++i)
    stages[i].boxes.insert(stages[i].boxes.end(), later[i].boxes.begin(), later[i].boxes.end());
  TimelineView view;
  const PipelineSummary summary = draw_pipeline(view, std::move(stages));
  EXPECT_EQ(summary.steps, 2);
  EXPECT_EQ(summary.stages[0].window, Nanoseconds{120});
  EXPECT_DOUBLE_EQ(summary.bubble_share(), 1.0 / 3);
}

TEST(PipelineView, PipelinesHaveTheirOwnWindows) {
  std::vector<PipelineStage> stages = two_stages();
  for (PipelineStage& stage : two_stages(5)) {
    stage.pipeline = 1;
    stage.rank += 2;
    stages.push_back(stage);
  }
  std::swap(stages[0], stages[3]);
  TimelineView view;
  const PipelineSummary summary = draw_pipeline(view, std::move(stages));
  EXPECT_EQ(summary.pipelines, 2);
  EXPECT_EQ(view.group_count(), 2U);
  EXPECT_EQ(view.group(1).name, "pipeline 1");
  EXPECT_EQ(view.lane(2).name, "stage 0, rank 2");
  EXPECT_DOUBLE_EQ(summary.bubble_share(), 1.0 / 3);
}

TEST(PipelineView, ReductionsAndOptimizerHaveLanes) {
  std::vector<PipelineStage> stages = two_stages();
  stages[0].reductions = {
      {.name = "all_reduce", .start = Nanoseconds{60}, .end = Nanoseconds{70}, .bytes = 8_B}};
  stages[0].optimizer = {{.name = "optimizer", .start = Nanoseconds{70}, .end = Nanoseconds{90}}};
  TimelineView view;
  const PipelineSummary summary = draw_pipeline(view, std::move(stages));
  ASSERT_EQ(view.lane_count(), 4U);
  EXPECT_EQ(view.lane(2).name, "stage 0: reductions");
  EXPECT_EQ(view.lane(3).name, "stage 0: optimizer");
  EXPECT_EQ(view.labels()[view.events(3).labels[0]].kind, TimelineKind::kOptimizer);
  EXPECT_EQ(summary.stages[0].window, Nanoseconds{60}) << "they are no part of the window";
}

// Interleaved: chunk 0 of stage 1 goes on with chunk 1 of stage 0.
TEST(PipelineView, ChunksAreLinkedInTheModelsOrder) {
  std::vector<PipelineStage> stages(2);
  stages[1].stage = stages[1].rank = 1;
  for (std::uint16_t chunk = 0; chunk < 2; ++chunk)
    for (std::size_t stage = 0; stage < 2; ++stage) {
      const std::int64_t start = 20 * chunk + 10 * static_cast<std::int64_t>(stage);
      PipelineBox box = box_for_tests(false, 0, start, start + 10);
      box.chunk = chunk;
      stages[stage].boxes.push_back(box);
    }
  TimelineView view;
  draw_pipeline(view, std::move(stages));
  ASSERT_THAT(view.links(), SizeIs(3));
  for (const TimelineView::Link& link : view.links())
    EXPECT_EQ(view.events(link.from.lane).starts[link.from.index] + 10,
              view.events(link.to.lane).starts[link.to.index]);
}

}  // namespace
}  // namespace nadi::inline show
