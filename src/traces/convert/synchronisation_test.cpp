#include "nadi/convert/synchronisation.h"

#include <gmock/gmock.h>

#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Two streams with a kernel each, launched one after the other; `long` ends at 120, `short` at 60.
Profile two_streams() {
  Profile profile;
  profile.call("launch long", {.start = 0, .length = 10}, 1);
  profile.call("launch short", {.start = 10, .length = 10}, 2);
  profile.kernel("long", {.start = 20, .length = 100}, 1, 7);
  profile.kernel("short", {.start = 30, .length = 30}, 2, 20);
  return profile;
}

void sync_event(Profile& profile, std::string_view name, int stream, EventTime time, int correlation,
                std::string_view more = "") {
  profile.event("cuda_sync", name, 0, stream, time,
                format(R"("cuda_sync_kind": "{}", "device": 0, "stream": {}, "correlation": {}{}{})", name,
                       stream, correlation, more.empty() ? "" : ", ", more));
}

TEST(Synchronisation, ADeviceIsWaitedForWithAllItsStreams) {
  Profile profile = two_streams();
  profile.call("cudaDeviceSynchronize", {.start = 20, .length = 105}, 3);
  profile.call("launch late", {.start = 125, .length = 10}, 4);
  profile.kernel("late", {.start = 137, .length = 10}, 4, 7);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("cudaDeviceSynchronize"),
              UnorderedElementsAre("launch short", "long", "short"));
  // From 120, when the later one ended, to 125.
  EXPECT_EQ(converted.microseconds("cudaDeviceSynchronize"), 5);
  EXPECT_EQ(converted.number("cudaDeviceSynchronize", "inclusive_ns"), 105'000);
  EXPECT_EQ(converted.report().inferred_syncs, 1);
  EXPECT_EQ(converted.report().recorded_syncs, 0);
}

TEST(Synchronisation, OfOneStreamTheOpThatEndedWithinTheCallIsTaken) {
  Profile profile = two_streams();
  profile.call("cudaStreamSynchronize", {.start = 20, .length = 45}, 3);  // until 65: `long` still runs
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("cudaStreamSynchronize"), UnorderedElementsAre("launch short", "short"));
  EXPECT_EQ(converted.microseconds("cudaStreamSynchronize"), 5);
}

TEST(Synchronisation, ACallThatFoundEverythingDoneWaitedForNothing) {
  Profile profile = two_streams();
  profile.call("cudaEventSynchronize", {.start = 200, .length = 5}, 3);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("cudaEventSynchronize"), ElementsAre("host gap"));
  EXPECT_EQ(converted.microseconds("cudaEventSynchronize"), 5);
  EXPECT_EQ(converted.report().inferred_syncs, 0);
}

TEST(Synchronisation, ARecordedStreamIsTheOneThatIsWaitedFor) {
  Profile profile = two_streams();
  // Both ended within the call; `long` ended last.
  profile.call("cudaStreamSynchronize", {.start = 20, .length = 110}, 3);
  sync_event(profile, "Stream Sync", 20, {.start = 20, .length = 110}, 3);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("cudaStreamSynchronize"), UnorderedElementsAre("launch short", "short"));
  EXPECT_EQ(converted.microseconds("cudaStreamSynchronize"), 130 - 60);
  EXPECT_EQ(converted.report().recorded_syncs, 1);
  EXPECT_EQ(converted.report().dropped[static_cast<std::size_t>(KinetoCategory::kSync)], 1);
}

TEST(Synchronisation, ARecordedEventIsWaitedForUpToItsRecord) {
  Profile profile;
  profile.call("launch a", {.start = 0, .length = 10}, 1);
  profile.call("cudaEventRecord", {.start = 10, .length = 2}, 2);
  profile.call("launch b", {.start = 12, .length = 8}, 3);
  profile.call("cudaEventSynchronize", {.start = 20, .length = 80}, 4);
  profile.kernel("a", {.start = 20, .length = 20}, 1);
  profile.kernel("b", {.start = 40, .length = 20}, 3);
  sync_event(profile, "Event Sync", -1, {.start = 20, .length = 80}, 4,
             R"("wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 2, "wait_on_cuda_event_id": 9)");
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("cudaEventSynchronize"), UnorderedElementsAre("launch b", "a"));
  EXPECT_EQ(converted.microseconds("cudaEventSynchronize"), 100 - 40);
}

TEST(Synchronisation, AfterAStreamWaitTheNextOpWaitsForTheOtherStreams) {
  Profile profile = two_streams();
  profile.call("cudaStreamWaitEvent", {.start = 22, .length = 2}, 3);
  profile.call("launch after", {.start = 24, .length = 6}, 4);
  profile.call("launch again", {.start = 30, .length = 6}, 5);
  profile.kernel("after", {.start = 121, .length = 10}, 4, 20);
  profile.kernel("again", {.start = 131, .length = 10}, 5, 20);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("after"), UnorderedElementsAre("launch after", "short", "long"));
  EXPECT_THAT(converted.data_deps("again"), UnorderedElementsAre("launch again", "after"));
  EXPECT_EQ(converted.report().inferred_syncs, 1);
}

TEST(Synchronisation, AnOpThatStartedBeforeAnotherEndedDidNotWaitForIt) {
  Profile profile = two_streams();
  profile.call("cudaStreamWaitEvent", {.start = 22, .length = 2}, 3);
  profile.call("launch after", {.start = 24, .length = 6}, 4);
  profile.kernel("after", {.start = 61, .length = 10}, 4, 20);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("after"), UnorderedElementsAre("launch after", "short"));
  EXPECT_EQ(converted.report().inferred_syncs, 0);
}

TEST(Synchronisation, ARecordedStreamWaitSaysWhoWaitsForWhom) {
  Profile profile = two_streams();
  profile.call("launch third", {.start = 20, .length = 2}, 6);
  profile.kernel("third", {.start = 30, .length = 10}, 6, 30);
  profile.call("cudaStreamWaitEvent", {.start = 22, .length = 2}, 3);
  sync_event(profile, "Stream Wait Event", 20, {.start = 22, .length = 2}, 3,
             R"("wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": -1, "wait_on_cuda_event_id": 9)");
  profile.call("launch elsewhere", {.start = 24, .length = 6}, 4);
  profile.call("launch after", {.start = 30, .length = 6}, 5);
  profile.kernel("elsewhere", {.start = 41, .length = 10}, 4, 30);
  profile.kernel("after", {.start = 121, .length = 10}, 5, 20);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("elsewhere"), UnorderedElementsAre("launch elsewhere", "third"));
  EXPECT_THAT(converted.data_deps("after"), UnorderedElementsAre("launch after", "short", "long"));
  EXPECT_EQ(converted.report().recorded_syncs, 1);
}

// The optimizer's kernels still run when the profile begins; the host reads the loss.
TEST(Synchronisation, KernelsOfBeforeTheProfileAreWaitedFor) {
  Profile profile;
  profile.op("aten::item", {.start = 0, .length = 320});
  profile.call("cudaMemcpyAsync", {.start = 2, .length = 5}, 3);
  profile.call("cudaStreamSynchronize", {.start = 10, .length = 300}, 4);
  profile.kernel("adam 1", {.start = 0, .length = 100}, 1);
  profile.kernel("adam 2", {.start = 100, .length = 200}, 2);
  profile.copy("Memcpy DtoH (Device -> Pinned)", {.start = 300, .length = 4}, 3);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("adam 1"), ElementsAre());
  EXPECT_THAT(converted.data_deps("adam 2"), ElementsAre("adam 1"));
  EXPECT_THAT(converted.data_deps("cudaStreamSynchronize"),
              UnorderedElementsAre("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)"));
  // From 304 to 310.
  EXPECT_EQ(converted.microseconds("cudaStreamSynchronize"), 6);
  EXPECT_EQ(converted.replayed("cudaStreamSynchronize"), 304);
  EXPECT_EQ(converted.report().without_launch, 2);
}

TEST(Synchronisation, OfAllKindsTheyAre) {
  for (const std::string_view call : {"cudaDeviceSynchronize", "cudaStreamSynchronize",
                                      "cudaEventSynchronize", "cudaStreamSynchronize_ptsz"}) {
    SCOPED_TRACE(std::string(call));
    Profile profile;
    profile.kernel("adam 1", {.start = 0, .length = 100}, 1);
    profile.kernel("adam 2", {.start = 100, .length = 200}, 2);
    profile.op("aten::zeros", {.start = 0, .length = 2});
    profile.call(call, {.start = 10, .length = 300}, 4);
    profile.call("launch next", {.start = 312, .length = 10}, 5);
    profile.kernel("next", {.start = 325, .length = 10}, 5);
    const Converted converted = convert(profile);
    EXPECT_THAT(converted.data_deps(call), UnorderedElementsAre("aten::zeros", "adam 2"));
    EXPECT_EQ(converted.microseconds(call), 10);
    EXPECT_EQ(converted.replayed("next"), 320);
    EXPECT_EQ(converted.report().without_launch, 2);
  }
}

// A kernel that another thread launches while this one waits comes behind those that it waits for.
TEST(Synchronisation, AKernelWithoutLaunchBehindALaterOneIsNotWaitedFor) {
  Profile profile;
  profile.call("launch a", {.start = 0, .length = 5}, 1);
  profile.call("cudaDeviceSynchronize", {.start = 10, .length = 100}, 2);
  profile.call("launch b", {.start = 20, .length = 5}, 3, 200);
  profile.kernel("a", {.start = 10, .length = 30}, 1);
  profile.kernel("b", {.start = 40, .length = 30}, 3);
  profile.kernel("c", {.start = 70, .length = 30}, 4);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("cudaDeviceSynchronize"), UnorderedElementsAre("launch a", "a"));
}

TEST(Synchronisation, ClocksMayDifferALittle) {
  Profile profile;
  profile.call("launch", {.start = 0, .length = 5}, 1);
  profile.call("cudaDeviceSynchronize", {.start = 10, .length = 300}, 2);
  profile.kernel("kernel", {.start = 10, .length = 304}, 1);  // ends 4 after the call that waits for it
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("cudaDeviceSynchronize"), UnorderedElementsAre("launch", "kernel"));
  EXPECT_EQ(converted.microseconds("cudaDeviceSynchronize"), 0);
}

// Kineto writes -1 for a stream that it does not know.
TEST(Synchronisation, ARecordedEventOfAnUnknownStreamIsTheOneThatEndedWithinTheCall) {
  Profile profile = two_streams();
  profile.call("cudaEventSynchronize", {.start = 50, .length = 15}, 3);
  sync_event(profile, "Event Sync", -1, {.start = 50, .length = 15}, 3,
             R"("wait_on_stream": -1, "wait_on_cuda_event_record_corr_id": -1, "wait_on_cuda_event_id": 9)");
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("cudaEventSynchronize"), UnorderedElementsAre("launch short", "short"));
  EXPECT_EQ(converted.report().inferred_syncs, 1);
}

}  // namespace
}  // namespace nadi::inline traces
