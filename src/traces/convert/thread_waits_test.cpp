#include "nadi/convert/thread_waits.h"

#include <gmock/gmock.h>

#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kBackwardThread = 200;

TEST(ThreadWaits, AThreadThatSleepsWhileAnotherWorksWaitsForIt) {
  Profile profile;
  profile.op("forward", {.start = 0, .length = 100});
  profile.op("backward", {.start = 150, .length = 3000}, "", kBackwardThread);
  profile.op("optimizer", {.start = 3250, .length = 100});
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.report().gaps, 2);
  EXPECT_EQ(converted.report().waits, 2);
  EXPECT_EQ(converted.replayed("backward"), 150);
  EXPECT_EQ(converted.replayed("optimizer"), 3250);
  // The gaps: from the end of `forward` at 100 to 150, and from the end of `backward` at 3150 to 3250.
  EXPECT_THAT(converted.data_deps("backward"), ElementsAre("host gap"));
  for (std::size_t row = 0; row < converted.nodes.size(); ++row) {
    if (converted.nodes.name(row) != "host gap") continue;
    const bool first = converted.nodes.start(row) == Nanoseconds{100'000};
    EXPECT_EQ(converted.nodes.duration(row), Nanoseconds{first ? 50'000 : 100'000});
    EXPECT_EQ(converted.nodes.start(row), Nanoseconds{first ? 100'000 : 3'150'000});
  }
}

TEST(ThreadWaits, AShortGapIsTheThreadsOwn) {
  Profile profile;
  profile.op("first", {.start = 0, .length = 100});
  profile.op("other", {.start = 0, .length = 300}, "", kBackwardThread);
  profile.op("second", {.start = 900, .length = 100});
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.report().waits, 0);
  EXPECT_THAT(converted.data_deps("host gap"), ElementsAre("first"));
  EXPECT_EQ(converted.microseconds("host gap"), 800);
}

TEST(ThreadWaits, AThreadThatNothingComesBeforeStartsWhenItDid) {
  Profile profile;
  profile.op("long", {.start = 0, .length = 5000});
  profile.op("other", {.start = 2000, .length = 100}, "", kBackwardThread);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("host gap"), IsEmpty());
  EXPECT_EQ(converted.microseconds("host gap"), 2000);
  EXPECT_EQ(converted.replayed("other"), 2000);
}

TEST(ThreadWaits, NobodyWaitsForAThreadThatOnlyCallsTheRuntime) {
  Profile profile;
  profile.op("first", {.start = 0, .length = 100});
  profile.call("cudaEventQuery", {.start = 1000, .length = 5}, 1, 300);
  profile.op("second", {.start = 3000, .length = 100});
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.report().waits, 1);  // the query's thread, for `first`
  EXPECT_EQ(converted.replayed("second"), 3000);
  EXPECT_EQ(converted.replayed("cudaEventQuery"), 1000);
}

}  // namespace
}  // namespace nadi::inline traces
