#include "nadi/convert/node_order.h"

#include <gmock/gmock.h>

#include "nadi/base/error.h"
#include "nadi/convert/profile_for_tests.h"
#include "nadi/trace/trace_check.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// A kernel whose launch comes after a call that waits for the kernel behind it: the id of `early` is wrong.
Profile contradictory() {
  Profile profile;
  profile.call("launch late", {.start = 0, .length = 10}, 1);
  profile.call("cudaDeviceSynchronize", {.start = 10, .length = 190}, 2);
  profile.call("launch early", {.start = 300, .length = 10}, 3);
  profile.kernel("early", {.start = 20, .length = 50}, 3);
  profile.kernel("late", {.start = 70, .length = 120}, 1);
  return profile;
}

TEST(NodeOrder, WhatTimesTellYieldsToWhatIdsTell) {
  const Converted converted = convert(contradictory());
  EXPECT_NO_THROW(check_trace(converted.nodes));
  EXPECT_EQ(converted.report().yielded_inferred, 1);
  EXPECT_EQ(converted.report().yielded_recorded, 0);
  EXPECT_THAT(converted.data_deps("early"), ElementsAre("launch early"));
  EXPECT_THAT(converted.data_deps("late"), UnorderedElementsAre("launch late", "early"));
  // The call lasts as long as it did, now that it waits for nothing.
  EXPECT_THAT(converted.data_deps("cudaDeviceSynchronize"), ElementsAre("launch late"));
  EXPECT_EQ(converted.microseconds("cudaDeviceSynchronize"), 190);
}

TEST(NodeOrder, OfWhatIdsTellThatYieldsWhichTimesContradictMost) {
  Profile profile = contradictory();
  profile.event("cuda_sync", "Context Sync", 0, 1, {.start = 10, .length = 190},
                R"("cuda_sync_kind": "Context Sync", "device": 0, "stream": -1, "correlation": 2)");
  const Converted converted = convert(profile);
  EXPECT_NO_THROW(check_trace(converted.nodes));
  EXPECT_EQ(converted.report().yielded_inferred, 0);
  EXPECT_EQ(converted.report().yielded_recorded, 1);
  // `early` started 280 before its launch.
  EXPECT_THAT(converted.data_deps("early"), ElementsAre());
  EXPECT_THAT(converted.data_deps("cudaDeviceSynchronize"), UnorderedElementsAre("launch late", "late"));
  EXPECT_EQ(converted.microseconds("cudaDeviceSynchronize"), 10);
  // Nothing holds `early` back: 50 of it and 120 of `late`.
  EXPECT_EQ(converted.replayed("cudaDeviceSynchronize"), 170);
}

TEST(NodeOrder, AKernelThatStartsBeforeItsLaunchStillWaitsForIt) {
  Profile profile;
  profile.call("launch", {.start = 100, .length = 10}, 1);
  profile.kernel("kernel", {.start = 97, .length = 50}, 1);
  profile.call("cudaDeviceSynchronize", {.start = 110, .length = 50}, 2);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("kernel"), ElementsAre("launch"));
  EXPECT_EQ(converted.report().yielded_inferred + converted.report().yielded_recorded, 0);
}

TEST(NodeOrder, EventsOfNoDurationAtTheSameMomentAreNoCircle) {
  Profile profile;
  for (int i = 0; i < 4; ++i) {
    profile.call("cudaStreamWaitEvent", {.start = 10, .length = 0}, 100 + i);
    profile.call(format("launch {}", i), {.start = 10, .length = 0}, i + 1);
    profile.kernel(format("kernel {}", i), {.start = 10, .length = 0}, i + 1, 7 + i % 2);
  }
  profile.call("cudaDeviceSynchronize", {.start = 10, .length = 0}, 200);
  const Converted converted = convert(profile);
  EXPECT_NO_THROW(check_trace(converted.nodes));
}

// Any ids at all: whatever waits for whatever, a trace comes out.
TEST(NodeOrder, NoProfileMakesACircle) {
  std::uint64_t yielded = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::uint32_t state = seed * 2654435761U + 1;
    const auto random = [&](std::uint32_t below) {
      state = state * 1664525U + 1013904223U;
      return static_cast<int>((state >> 8) % below);
    };
    Profile profile;
    for (int i = 0; i < 40; ++i) {
      const EventTime time{.start = random(1000), .length = random(100)};
      switch (random(7)) {
        case 0:
          profile.call("cudaDeviceSynchronize", time, i, 100 + random(3));
          break;
        case 1:
          profile.call("cudaStreamWaitEvent", time, i, 100 + random(3));
          break;
        case 2:
          profile.call("cudaMemcpyAsync", time, i, 100 + random(3));
          profile.copy("copy", {.start = random(1000), .length = random(50)}, i, 7 + random(3));
          break;
        case 3:
          profile.op("aten::mm", {.start = random(5000), .length = random(3000)}, "", 100 + random(3));
          break;
        default:
          profile.call("cudaLaunchKernel", time, i, 100 + random(3));
          profile.kernel("kernel", {.start = random(1000), .length = random(50)}, random(40), 7 + random(3));
          break;
      }
    }
    const Converted converted = convert(profile);
    ASSERT_NO_THROW(check_trace(converted.nodes)) << "seed " << seed;
    yielded += converted.report().yielded_inferred + converted.report().yielded_recorded;
  }
  EXPECT_GT(yielded, 0);
}

TEST(NodeOrder, OpsThatCallEachOtherAreDamage) {
  const std::string long_name(1000, 'k');
  const std::string node =
      R"({{"id": {}, "name": "{}", "ctrl_deps": {}, "inputs": {{}}, "outputs": {{}}, "attrs": []}})";
  const std::string json = format(R"({{"schema": "1.1.1-chakra.0.0.4", "pid": 100, "nodes": [{}, {}]}})",
                                  fmt::format(fmt::runtime(node), 2, long_name, 3),
                                  fmt::format(fmt::runtime(node), 3, "other", 2));
  const auto host = std::make_shared<const HostTrace>(read_host_trace(json, "host.json"));
  try {
    const Converted converted({.host = host});
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("(node 2) -> 'other' (node 3) -> '" + std::string(40, 'k') + "…"));
    EXPECT_LT(error.message().size(), 400U);
  }
}

}  // namespace
}  // namespace nadi::inline traces
