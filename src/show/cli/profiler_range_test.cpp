// What --profile means on a GPU. No GPU is needed to understand a command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/train_files.h"
#include "nadi/cli/train_options_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TrainOptions traced(std::string_view words, DeviceKind device) {
  TrainOptions options;
  options.device = device;
  options.plan = {.dp = 4};
  std::vector<std::string> notes;
  resolve_traces(train_flags_for_tests(words), "gpt2", options, notes);
  return options;
}

std::string refused(std::string_view words) {
  try {
    traced(words, DeviceKind::kCuda);
  } catch (const Error& error) {
    return error.message() + " | " + error.hint();
  }
  return "no error";
}

// Megatron's iterations 11 to 13, which count from 0, are steps 12 and 13.
TEST(ProfilerRange, OnAGpuProfileMarksStepsForOthers) {
  const TrainOptions options = traced(
      "gpt2 --profile --profile-step-start 11 --profile-step-end 13 --profile-ranks 1 2", DeviceKind::kCuda);
  EXPECT_FALSE(options.trace.has_value());
  ASSERT_TRUE(options.profiler_range.has_value());
  EXPECT_EQ(options.profiler_range->first, 12);
  EXPECT_EQ(options.profiler_range->last, 13);
  EXPECT_THAT(options.profiler_range->ranks, ElementsAre(1, 2));
}

TEST(ProfilerRange, PyTorchsProfilerMeansATrace) {
  const TrainOptions options =
      traced("gpt2 --profile --use-pytorch-profiler --tensorboard-dir events", DeviceKind::kCuda);
  EXPECT_FALSE(options.profiler_range.has_value());
  ASSERT_TRUE(options.trace.has_value());
  EXPECT_EQ(options.trace->folder, "events");
  EXPECT_EQ(options.trace->active, 2);  // steps 11 and 12
}

TEST(ProfilerRange, ElsewhereProfileIsATrace) {
  const TrainOptions options = traced("gpt2 --profile", DeviceKind::kCpu);
  EXPECT_FALSE(options.profiler_range.has_value());
  EXPECT_TRUE(options.trace.has_value());
}

TEST(ProfilerRange, TracingAndAProfilerExcludeEachOther) {
  EXPECT_THAT(
      refused("gpt2 --profile --enable-tracing"),
      HasSubstr("--enable-tracing traces the run, and --profile leaves that to nsys or ncu on a GPU | "
                "leave out --profile, or add --use-pytorch-profiler"));
  EXPECT_THAT(refused("gpt2 --profile --trace-name x"), HasSubstr("--trace-name traces the run"));
  EXPECT_THAT(refused("gpt2 --profile --profile-step-start 5 --profile-step-end 5"),
              HasSubstr("--profile-step-end 5 is not after --profile-step-start 5"));
}

}  // namespace
}  // namespace nadi::inline show
