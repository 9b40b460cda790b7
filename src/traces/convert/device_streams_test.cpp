#include "nadi/convert/device_streams.h"

#include <gmock/gmock.h>

#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
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

// Two processes with a GPU each; "early" was launched before the profile began.
TEST(DeviceStreams, WorkWithoutALaunchIsOfTheProcessOfItsDevice) {
  Profile profile;
  for (const int process : {100, 200}) {
    profile.event("cpu_op", "aten::mm", process, process, {.start = 0, .length = 30}, "");
    profile.event("cuda_runtime", "cudaLaunchKernel", process, process, {.start = 5, .length = 10},
                  format(R"("correlation": {})", process));
    const int device = process / 100;
    profile.event("kernel", format("of {}", process), device, 7, {.start = 20, .length = 10},
                  format(R"("device": {}, "stream": 7, "correlation": {})", device, process));
  }
  profile.event("kernel", "early", 2, 7, {.start = 0, .length = 10},
                R"("device": 2, "stream": 7, "correlation": 1)");
  const auto kernels = [&](std::int64_t process) {
    const Converted converted({.kineto = read(profile), .process = process}, {});
    std::vector<std::string> names;
    for (std::size_t row = 0; row < converted.nodes.size(); ++row)
      if (converted.nodes.find_attribute(row, "stream") && converted.nodes.name(row) != "host gap")
        names.emplace_back(converted.nodes.name(row));
    return names;
  };
  EXPECT_THAT(kernels(100), ElementsAre("of 100"));
  EXPECT_THAT(kernels(200), testing::UnorderedElementsAre("early", "of 200"));
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

TEST(DeviceStreams, KernelsWithoutEitherAreRootsInTheOrderOfTheirStream) {
  Profile profile;
  profile.op("aten::mm", {.start = 0, .length = 20});
  profile.call("launch", {.start = 25, .length = 5}, 79);
  profile.kernel("first", {.start = 0, .length = 10}, 77);
  profile.kernel("second", {.start = 10, .length = 30}, 78);
  profile.kernel("launched", {.start = 40, .length = 10}, 79);
  profile.kernel("elsewhere", {.start = 5, .length = 5}, 80, 9);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("first"), IsEmpty());
  EXPECT_THAT(converted.ctrl_deps("first"), IsEmpty());
  EXPECT_THAT(converted.data_deps("second"), ElementsAre("first"));
  EXPECT_THAT(converted.data_deps("launched"), ElementsAre("launch", "second"));
  EXPECT_THAT(converted.data_deps("elsewhere"), IsEmpty());
  EXPECT_EQ(converted.report().by_correlation, 1);
  EXPECT_EQ(converted.report().without_launch, 3);
  EXPECT_EQ(converted.report().device_gaps, 0);
}

TEST(DeviceStreams, TimeBeforeAKernelWithoutLaunchPasses) {
  Profile profile;
  profile.op("aten::mm", {.start = 0, .length = 20});
  profile.kernel("first", {.start = 100, .length = 10}, 77);
  profile.kernel("second", {.start = 116, .length = 10}, 78);  // 6 behind the first
  profile.kernel("third", {.start = 132, .length = 10}, 79);   // 6 more: a gap of 12, above 50 / 5
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.report().device_gaps, 2);
  EXPECT_EQ(converted.report().gaps, 0);
  EXPECT_EQ(converted.replayed("first"), 100);
  EXPECT_EQ(converted.replayed("second"), 110);
  EXPECT_EQ(converted.replayed("third"), 132);
  EXPECT_THAT(converted.data_deps("third"), ElementsAre("host gap"));
  // It is time of a host that nobody saw, and keeps no device busy.
  for (std::size_t row = 0; row < converted.nodes.size(); ++row) {
    if (converted.nodes.name(row) != "host gap") continue;
    EXPECT_EQ(converted.nodes.find_attribute(row, "is_cpu_op")->integer(), 1);
    EXPECT_EQ(converted.nodes.find_attribute(row, "category")->string(), "host_gap");
    EXPECT_EQ(converted.nodes.find_attribute(row, "stream")->integer(), 7);
  }
}

// A kernel that ran when the profile began is not in it, and held up the first one.
TEST(DeviceStreams, AStreamThatWasBusyWhenTheProfileBeganHoldsUpItsFirstOp) {
  Profile profile;
  profile.call("launch", {.start = 0, .length = 10}, 1);
  profile.call("launch again", {.start = 10, .length = 10}, 2);
  profile.kernel("first", {.start = 500, .length = 10}, 1);
  profile.kernel("second", {.start = 511, .length = 10}, 2);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("first"), ElementsAre("launch", "host gap"));
  EXPECT_THAT(converted.data_deps("host gap"), ElementsAre("launch"));
  EXPECT_EQ(converted.microseconds("host gap"), 490);
  EXPECT_EQ(converted.replayed("first"), 500);
  EXPECT_EQ(converted.replayed("second"), 510);
  EXPECT_EQ(converted.report().device_gaps, 1);
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

// It is not the call's own copy: waiting for it would mean that the graph waits for itself.
TEST(DeviceStreams, ACopyInAGraphDoesNotHoldUpTheLaunchOfTheGraph) {
  Profile profile;
  profile.call("cudaGraphLaunch", {.start = 0, .length = 100}, 1);
  profile.kernel("kernel", {.start = 20, .length = 10}, 1);
  profile.copy("Memcpy DtoD (Device -> Device)", {.start = 30, .length = 5}, 1);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("cudaGraphLaunch"), IsEmpty());
  EXPECT_THAT(converted.data_deps("Memcpy DtoD (Device -> Device)"),
              ElementsAre("cudaGraphLaunch", "kernel"));
  EXPECT_EQ(converted.report().yielded_inferred + converted.report().yielded_recorded, 0);
}

}  // namespace
}  // namespace nadi::inline traces
