#include "nadi/draw/timeline_from_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/megatron_log/log_reader.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Two stages of one rank each; two micro-batches whose passes take 10 ms each on both.
std::string log_text(std::string_view settings = "PIPELINE_MP_SIZE: 2\nMICRO_BATCH_SIZE: 1\n") {
  return std::string(settings) +
         " iteration 10/ 20 | elapsed time per iteration (ms): 80.0 | global batch size: 2 | lm loss: 2.5 |\n"
         "times across ranks (ms):\n"
         "  forward-backward:\n     rank  0: 64.00\n     rank  1: 62.00\n"
         "  forward-compute:\n     rank  0: 20.00\n     rank  1: 20.00\n"
         "  backward-compute:\n     rank  0: 20.00\n     rank  1: 20.00\n"
         "  all-grads-sync:\n     rank  0: 3.00\n     rank  1: 3.00\n"
         "  optimizer-inner-step:\n     rank  0: 1.00\n     rank  1: 1.00\n"
         "  optimizer:\n     rank  0: 4.00\n     rank  1: 4.00\n";
}

TEST(PipelineFromLog, ReconstructsTheSchedule) {
  TimelineView view;
  const PipelineSummary summary = pipeline_from_log(view, parse_training_log(log_text(), "log"), {});
  EXPECT_TRUE(summary.reconstructed);
  EXPECT_EQ(summary.stage_count, 2);
  EXPECT_EQ(summary.micro_batches, 2);
  // 1F1B of two stages and two micro-batches: 3 slots of forward and of backward, of 10 ms.
  ASSERT_THAT(summary.stages, SizeIs(2));
  EXPECT_EQ(summary.stages[0].window, Nanoseconds{60'000'000});
  EXPECT_DOUBLE_EQ(summary.bubble_share(), 1.0 / 3);
  // 24 of 64 ms and 22 of 62 ms were no passes.
  EXPECT_DOUBLE_EQ(summary.stages[0].timed_bubble_share.value(), 0.375);
  EXPECT_DOUBLE_EQ(summary.stages[1].timed_bubble_share.value(), 22.0 / 62);
  EXPECT_THAT(view.notes.at(0), HasSubstr("reconstructed"));
  EXPECT_EQ(view.lane(0).note, "bubble 33.3%");
  EXPECT_EQ(view.group(0).name, "pipeline, reconstructed");
  EXPECT_EQ(view.lane_count(), 6U) << "two stages, each with reductions and optimizer";
  EXPECT_EQ(view.event_count(3), 1U) << "its inner step is a part of the optimizer";
}

// Two pipelines: ranks 0 and 2, 1 and 3.
TEST(PipelineFromLog, RanksOfAStageAreNumberedTogether) {
  std::string text =
      "PIPELINE_MP_SIZE: 2\n iteration 1/ 2 | elapsed time per iteration (ms): 80.0 |\n"
      "times across ranks (ms):\n";
  for (const char* timer : {"forward-compute", "backward-compute"}) {
    text += format("  {}:\n", timer);
    for (int rank = 0; rank < 4; ++rank) text += format("     rank {:2}: {}.00\n", rank, 10 + rank);
  }
  TimelineView view;
  const PipelineSummary summary =
      pipeline_from_log(view, parse_training_log(text, "log"), {.micro_batches = 1});
  EXPECT_EQ(summary.pipelines, 2);
  EXPECT_EQ(summary.stages[1].rank, 2);
  EXPECT_EQ(summary.stages[1].stage, 1);
  EXPECT_EQ(summary.stages[1].forward, Nanoseconds{12'000'000});
  // Nothing overlaps with one micro-batch: 2 x 10 + 2 x 12 ms.
  EXPECT_EQ(summary.stages[0].window, Nanoseconds{44'000'000});
}

TEST(PipelineFromLog, CallsThatAreListedAreDrawnWhereTheyWere) {
  const TrainingLog log = parse_training_log(
      "PIPELINE_MP_SIZE: 1\n iteration 10/ 20 | elapsed time per iteration (ms): 80.0 |\n"
      "times across ranks (ms):\n"
      "  forward-compute:\n     rank  0: 20.00\n"
      " forward-compute start time lst: 100.0 100.2\n forward-compute end time lst: 100.1 100.3\n"
      "  backward-compute:\n     rank  0: 20.00\n"
      " backward-compute start time lst: 100.1 100.3\n backward-compute end time lst: 100.2 100.5\n",
      "log");
  TimelineView view;
  const PipelineSummary summary = pipeline_from_log(view, log, {.micro_batches = 2});
  EXPECT_FALSE(summary.reconstructed);
  EXPECT_EQ(summary.boxes, 4);
  EXPECT_EQ(summary.start, Nanoseconds{100'000'000'000});
  EXPECT_EQ(summary.stages[0].backward, Nanoseconds{300'000'000});
  EXPECT_EQ(summary.stages[0].bubble, Nanoseconds{0});
  // With one micro-batch a step they are of two steps, the ninth and the tenth.
  TimelineView other;
  EXPECT_EQ(pipeline_from_log(other, log, {.micro_batches = 1}).steps, 2);
}

TEST(PipelineFromLog, Mistakes) {
  const auto message = [](const std::string& text, const PipelineFromLogOptions& options) -> std::string {
    TimelineView view;
    try {
      pipeline_from_log(view, parse_training_log(text, "log"), options);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_THAT(message("", {}), HasSubstr("no line of an iteration"));
  EXPECT_THAT(message(" iteration 1/ 2 | elapsed time per iteration (ms): 80.0 |\n", {}),
              HasSubstr("no times of forward-compute"));
  EXPECT_THAT(message(log_text(""), {}), HasSubstr("how many stages"));
  EXPECT_THAT(message(log_text(""), {.stages = 2}), HasSubstr("how many micro-batches"));
  EXPECT_THAT(message(log_text(""), {.stages = 3, .micro_batches = 1}), HasSubstr("pipelines of 3 stages"));
  EXPECT_THAT(message(log_text(), {.micro_batches = 1'000'000'000}), HasSubstr("is too long"));
  EXPECT_THAT(message(log_text(), {.selection = {.steps = parse_number_ranges("3", "s")}}),
              HasSubstr("no iteration"));
  EXPECT_THAT(message(log_text(), {.selection = {.ranks = parse_number_ranges("3", "r")}}),
              HasSubstr("no rank"));
}

TEST(TimelineFromLog, IterationsAndTimers) {
  TimelineView view;
  const TimelineSummary summary = timeline_from_log(view, parse_training_log(log_text(), "log"), {});
  ASSERT_THAT(summary.ranks, SizeIs(2));
  EXPECT_EQ(summary.end, Nanoseconds{80'000'000});
  EXPECT_EQ(summary.ranks[0].communication, Nanoseconds{3'000'000});
  EXPECT_EQ(summary.ranks[0].compute, Nanoseconds{44'000'000}) << "passes and optimizer";
  EXPECT_EQ(summary.ranks[0].span, Nanoseconds{64'000'000});
  EXPECT_EQ(summary.ranks[0].idle, Nanoseconds{24'000'000});
  EXPECT_EQ(view.lane(1).name, "parts of the iteration");
  EXPECT_EQ(view.events(1).starts, (std::vector<std::int64_t>{0, 64'000'000, 67'000'000}));
  EXPECT_EQ(view.events(2).starts, (std::vector<std::int64_t>{0, 20'000'000}));
  EXPECT_THAT(view.notes, SizeIs(1));
}

TEST(TimelineFromLog, TheSlowestRankWhereOthersAreNotShown) {
  const TrainingLog log = parse_training_log(
      " iteration 1/ 2 | elapsed time per iteration (ms): 80.0 |\n"
      "(min, max) time across ranks (ms):\n    optimizer ....: (1.00, 2.00)\n",
      "log");
  TimelineView view;
  timeline_from_log(view, log, {});
  EXPECT_EQ(view.group(1).name, "slowest rank of each timer");
  EXPECT_EQ(view.events(1).durations, (std::vector<std::int64_t>{2'000'000}));
}

TEST(TimelineFromLog, DamagedAtRandom) {
  std::mt19937 random(5);
  const std::string whole = log_text();
  int drawn = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = whole.substr(0, random() % (whole.size() + 1));
    for (int i = 0; i < round % 4 && !text.empty(); ++i)
      text[random() % text.size()] = static_cast<char>(random());
    const TrainingLog log = parse_training_log(text, "cut");
    for (const bool pipeline : {false, true}) try {
        TimelineView view;
        if (pipeline)
          pipeline_from_log(view, log, {});
        else
          timeline_from_log(view, log, {});
        ++drawn;
      } catch (const Error&) {
        continue;
      }
  }
  EXPECT_GT(drawn, 50);
}

}  // namespace
}  // namespace nadi::inline show
