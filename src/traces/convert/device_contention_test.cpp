#include "nadi/convert/device_contention.h"

#include <gmock/gmock.h>

#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(DeviceContention, AKernelThatFoundTheDeviceBusyWaitsForTheOtherStream) {
  Profile profile;
  profile.call("launch a", {.start = 0, .length = 10}, 1);
  profile.call("launch b", {.start = 10, .length = 10}, 2);
  profile.kernel("a", {.start = 12, .length = 100}, 1, 7);
  profile.kernel("b", {.start = 113, .length = 50}, 2, 20);  // from 20 on it could have run
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("b"), UnorderedElementsAre("launch b", "a"));
  EXPECT_EQ(converted.replayed("b"), 110);
  EXPECT_EQ(converted.report().held_up, 1);
}

TEST(DeviceContention, KernelsStartWhileTheLastBlocksOfAnotherRun) {
  Profile profile;
  profile.call("launch a", {.start = 0, .length = 10}, 1);
  profile.call("launch b", {.start = 10, .length = 10}, 2);
  profile.kernel("a", {.start = 12, .length = 100}, 1, 7);
  profile.kernel("b", {.start = 107, .length = 50}, 2, 20);
  EXPECT_THAT(convert(profile).data_deps("b"), UnorderedElementsAre("launch b", "a"));
}

TEST(DeviceContention, AKernelThatStartedAtOnceWaitsForNobody) {
  Profile profile;
  profile.call("launch a", {.start = 0, .length = 10}, 1);
  profile.call("launch b", {.start = 110, .length = 10}, 2);
  profile.kernel("a", {.start = 12, .length = 110}, 1, 7);
  profile.kernel("b", {.start = 123, .length = 50}, 2, 20);  // 3 after its launch
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("b"), ElementsAre("launch b"));
  EXPECT_EQ(converted.report().held_up, 0);
}

TEST(DeviceContention, NobodyWaitsForAnotherDevice) {
  Profile profile;
  profile.call("launch a", {.start = 0, .length = 10}, 1);
  profile.call("launch b", {.start = 10, .length = 10}, 2);
  profile.kernel("a", {.start = 12, .length = 100}, 1, 7);
  profile.event("kernel", "b", 1, 20, {.start = 113, .length = 50},
                R"("device": 1, "stream": 20, "correlation": 2)");
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("b"), ElementsAre("launch b", "host gap"));
  EXPECT_EQ(converted.report().held_up, 0);
}

// One launch, two streams: the branches part behind `a` and meet in `end`.
TEST(DeviceContention, BranchesOfACapturedGraphMeet) {
  Profile profile;
  profile.call("cudaGraphLaunch", {.start = 0, .length = 10}, 1);
  profile.kernel("a", {.start = 20, .length = 100}, 1, 7);
  profile.kernel("left", {.start = 121, .length = 40}, 1, 7);
  profile.kernel("right", {.start = 122, .length = 80}, 1, 20);
  profile.kernel("end", {.start = 204, .length = 10}, 1, 7);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("right"), UnorderedElementsAre("cudaGraphLaunch", "a"));
  EXPECT_THAT(converted.data_deps("end"), UnorderedElementsAre("cudaGraphLaunch", "left", "right"));
  EXPECT_EQ(converted.report().held_up, 2);
}

}  // namespace
}  // namespace nadi::inline traces
