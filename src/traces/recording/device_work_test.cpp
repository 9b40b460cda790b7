#include "nadi/recording/device_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t kLaunched = 13;  // what CUPTI calls the stream of the launch

ExecutedStep step_of(std::initializer_list<StreamId> streams) {
  ExecutedStep step{.start = Nanoseconds{1000}, .end = Nanoseconds{2000}};
  step.device = {.kind = ExecutedDevice::Kind::kCuda};
  for (const StreamId stream : streams) step.kernels.push_back({.stream = stream});
  return step;
}

DeviceWork work(std::uint32_t kernel, std::int64_t start, std::int64_t end,
                std::uint32_t stream = kLaunched) {
  return {.kernel = kernel,
          .start = Nanoseconds{start},
          .end = Nanoseconds{end},
          .graph_node = 1,
          .stream = stream};
}

// "13: 1100..1300": stream, start and end of each kernel.
std::vector<std::string> times(const ExecutedStep& step) {
  std::vector<std::string> lines;
  for (const ExecutedKernel& kernel : step.kernels)
    lines.push_back(std::to_string(to_number(kernel.stream)) + ": " + std::to_string(kernel.start.count()) +
                    ".." + std::to_string(kernel.end.count()));
  return lines;
}

TEST(DeviceWork, AKernelLastsFromItsFirstWorkToItsLast) {
  ExecutedStep step = step_of({kComputeStream, kComputeStream});
  add_device_work(step, {work(1, 1400, 1500), work(0, 1200, 1300), work(0, 1100, 1150)});
  EXPECT_THAT(times(step), ElementsAre("13: 1100..1300", "13: 1400..1500"));
  EXPECT_EQ(step.device_work[0].start, Nanoseconds{1100});
  EXPECT_EQ(step.device_work[1].start, Nanoseconds{1200});
  EXPECT_EQ(step.device_work[2].kernel, 1u);
  EXPECT_EQ(step.end, Nanoseconds{2000});
}

// The second begins at 1290, 10 ns before the first is done.
TEST(DeviceWork, WhatOverlapsOnAStreamIsShownOneAfterTheOther) {
  ExecutedStep step = step_of({kComputeStream, kComputeStream, kSendStream});
  add_device_work(step, {work(0, 1100, 1300), work(1, 1290, 1400), work(2, 1150, 1350)});
  EXPECT_THAT(times(step), ElementsAre("13: 1100..1300", "13: 1300..1400", "14: 1150..1350"));
  EXPECT_EQ(step.device_work[1].start, Nanoseconds{1300});
}

// Times of a kernel that did nothing there; of one that the host carried, from before its copy until after.
TEST(DeviceWork, KernelsWithoutWorkAndThoseOfTheHostHaveTimes) {
  ExecutedStep step = step_of({kComputeStream, kComputeStream, kComputeStream});
  step.kernels[2].start = Nanoseconds{1350};
  step.kernels[2].end = Nanoseconds{1500};
  add_device_work(step, {work(0, 1100, 1300), work(2, 1340, 1400)});
  EXPECT_THAT(times(step), ElementsAre("13: 1100..1300", "13: 1300..1300", "13: 1340..1500"));
}

// Nodes of a graph are spread over streams of the driver's own.
TEST(DeviceWork, StreamsAreNumberedFromThatOfTheLaunch) {
  ExecutedStep step = step_of({kComputeStream, kSendStream, kComputeStream});
  add_device_work(step,
                  {work(0, 1100, 1200, 13), work(1, 1100, 1400, 57), work(2, 1200, 1300, 58),
                   work(DeviceWork::kNoKernel, 1300, 1310, 13), work(DeviceWork::kNoKernel, 1000, 1900, 14)});
  EXPECT_THAT(times(step), ElementsAre("13: 1100..1200", "14: 1100..1400", "13: 1200..1300"));
  // What is done besides has the stream of the launch, or one behind all streams of programs.
  EXPECT_EQ(step.device_work.size(), 3u);
  ASSERT_EQ(step.work_besides.size(), 2u);
  EXPECT_EQ(step.work_besides[0].stream, 13 + 2 * kStreamCount);
  EXPECT_EQ(step.work_besides[1].stream, 13u);
}

TEST(DeviceWork, ALaterPartOfAStepFollowsTheEarlierOne) {
  ExecutedStep step = step_of({kComputeStream});
  add_device_work(step, {work(0, 1100, 1300)});
  step.kernels.push_back({.stream = kComputeStream});
  add_device_work(step, {work(1, 1299, 1400)}, 1);
  EXPECT_THAT(times(step), ElementsAre("13: 1100..1300", "13: 1300..1400"));
}

TEST(DeviceWork, TheStepHoldsAllOfIt) {
  ExecutedStep step = step_of({kComputeStream});
  add_device_work(step, {work(0, 990, 2010)});
  EXPECT_EQ(step.start, Nanoseconds{990});
  EXPECT_EQ(step.end, Nanoseconds{2010});
}

}  // namespace
}  // namespace nadi::inline traces
