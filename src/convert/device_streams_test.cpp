#include "nadi/convert/device_streams.h"

#include <gmock/gmock.h>

#include "nadi/convert/profile_for_tests.h"

namespace nadi {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DeviceStreams, AKernelWaitsForItsLaunchAndForItsStream) {
  Profile profile;
  profile.op("aten::mm", {.start = 0, .length = 30});
  profile.call("launch a", {.start = 5, .length = 10}, 1);
  profile.call("launch b", {.start = 20, .length = 10}, 2);
  profile.kernel("a", {.start = 18, .length = 30}, 1);
  profile.kernel("b", {.start = 48, .length = 30}, 2);
  profile.event("gpu_memset", "Memset (Device)", 0, 7, {.start = 80, .length = 1},
                R"("device": 0, "stream": 7, "correlation": 2)");
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("a"), ElementsAre("launch a"));
  EXPECT_THAT(converted.data_deps("b"), ElementsAre("launch b", "a"));
  EXPECT_THAT(converted.data_deps("Memset (Device)"), ElementsAre("launch b", "b"));
  EXPECT_THAT(converted.ctrl_deps("a"), ElementsAre("aten::mm"));
  EXPECT_EQ(converted.number("a", "is_cpu_op"), 0);
  EXPECT_EQ(converted.number("launch a", "is_cpu_op"), 1);
  EXPECT_EQ(converted.number("b", "stream"), 7);
  EXPECT_EQ(converted.number("b", "device"), 0);
  EXPECT_EQ(converted.number("b", "correlation"), 2);
  EXPECT_EQ(converted.text("b", "category"), "kernel");
  EXPECT_EQ(converted.report().by_correlation, 3);
  // The op's own time, 5 before and 5 between the launches, comes first, then the launch: 5 + 5 + 10. `b`
  // starts when `a` has ended.
  EXPECT_EQ(converted.replayed("a"), 20);
  EXPECT_EQ(converted.replayed("b"), 50);
}

TEST(DeviceStreams, StreamsRunSideBySide) {
  Profile profile;
  profile.call("launch a", {.start = 0, .length = 10}, 1);
  profile.call("launch b", {.start = 10, .length = 10}, 2);
  profile.kernel("a", {.start = 18, .length = 30}, 1, 7);
  profile.kernel("b", {.start = 22, .length = 30}, 2, 20);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("b"), ElementsAre("launch b"));
}

TEST(DeviceStreams, WorkOfOneStreamThatOverlappedStaysParallel) {
  Profile profile;
  profile.call("cudaGraphLaunch", {.start = 0, .length = 10}, 1);
  profile.kernel("a", {.start = 20, .length = 10}, 1);
  profile.kernel("left", {.start = 30, .length = 40}, 1);
  profile.kernel("right", {.start = 31, .length = 20}, 1);
  profile.kernel("end", {.start = 80, .length = 10}, 1);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("left"), ElementsAre("cudaGraphLaunch", "a"));
  EXPECT_THAT(converted.data_deps("right"), ElementsAre("cudaGraphLaunch", "a"));
  EXPECT_THAT(converted.data_deps("end"), ElementsAre("cudaGraphLaunch", "left", "right"));
}

TEST(DeviceStreams, AKernelWithoutLaunchIsPutBelowTheOpWithItsExternalId) {
  Profile profile;
  profile.op("aten::mm", {.start = 0, .length = 20}, R"("External id": 5)");
  profile.op("aten::add", {.start = 20, .length = 20}, R"("External id": 6)");
  profile.kernel("gemm", {.start = 30, .length = 5}, 77, 7, R"("External id": 5)");
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("gemm"), ElementsAre("aten::mm"));
  EXPECT_THAT(converted.ctrl_deps("gemm"), ElementsAre("aten::mm"));
  EXPECT_EQ(converted.report().by_correlation, 0);
  EXPECT_EQ(converted.report().by_external_id, 1);
}

TEST(DeviceStreams, AndOneWithoutEitherBelowTheLastOpBefore) {
  Profile profile;
  profile.op("aten::mm", {.start = 0, .length = 20});
  profile.op("aten::add", {.start = 20, .length = 20});
  profile.op("aten::relu", {.start = 40, .length = 20});
  profile.kernel("gemm", {.start = 30, .length = 5}, 77);
  profile.kernel("early", {.start = 0, .length = 5}, 78, 9);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("gemm"), ElementsAre("aten::add"));
  EXPECT_THAT(converted.data_deps("early"), ElementsAre("aten::mm"));
  EXPECT_EQ(converted.report().by_time, 2);
}

TEST(DeviceStreams, AProfileOfADeviceAloneConverts) {
  Profile profile;
  profile.kernel("a", {.start = 0, .length = 5}, 1);
  profile.kernel("b", {.start = 10, .length = 5}, 2);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("a"), IsEmpty());
  EXPECT_THAT(converted.data_deps("b"), ElementsAre("a"));
}

TEST(DeviceStreams, ACopyThatEndsWithinItsCallHeldItUp) {
  Profile profile;
  profile.op("aten::item", {.start = 0, .length = 300});
  profile.call("cudaLaunchKernel", {.start = 5, .length = 5}, 1);
  profile.call("cudaMemcpyAsync", {.start = 20, .length = 250}, 2);
  profile.kernel("long kernel", {.start = 15, .length = 200}, 1);
  profile.copy("Memcpy DtoH (Device -> Pageable)", {.start = 216, .length = 4}, 2);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("Memcpy DtoH (Device -> Pageable)"),
              ElementsAre("cudaLaunchKernel", "long kernel"));
  EXPECT_THAT(converted.data_deps("cudaMemcpyAsync"),
              ElementsAre("cudaLaunchKernel", "Memcpy DtoH (Device -> Pageable)"));
  // 20 + 250 - (216 + 4)
  EXPECT_EQ(converted.microseconds("cudaMemcpyAsync"), 50);
}

}  // namespace
}  // namespace nadi
