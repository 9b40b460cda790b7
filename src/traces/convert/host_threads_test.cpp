#include "nadi/convert/host_threads.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "nadi/base/error.h"
#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HostThreads, AnOpLastsAsLongAsItIsNotInNestedOnes) {
  Profile profile;
  profile.op("outer", {.start = 0, .length = 100});
  profile.op("first", {.start = 10, .length = 30});
  profile.op("inner", {.start = 20, .length = 5});
  profile.op("second", {.start = 45, .length = 50});
  const Converted converted = convert(profile);
  // Before `first` 10, between the two 5, behind `second` 5.
  EXPECT_EQ(converted.microseconds("outer"), 20);
  EXPECT_EQ(converted.microseconds("first"), 25);
  EXPECT_EQ(converted.microseconds("inner"), 5);
  EXPECT_EQ(converted.microseconds("second"), 50);
  EXPECT_EQ(converted.number("outer", "inclusive_ns"), 100'000);
  EXPECT_EQ(converted.number("first", "inclusive_ns"), 30'000);
  EXPECT_EQ(converted.report().gaps, 0);
}

TEST(HostThreads, NodesOfAThreadAreAChain) {
  Profile profile;
  // As files have them: first the ops, then the calls.
  profile.op("outer", {.start = 0, .length = 100});
  profile.op("second", {.start = 50, .length = 50});
  profile.call("call", {.start = 20, .length = 10}, 1);
  profile.call("inner call", {.start = 60, .length = 10}, 2);
  const Converted converted = convert(profile);
  EXPECT_THAT(converted.data_deps("outer"), IsEmpty());
  EXPECT_THAT(converted.data_deps("call"), ElementsAre("outer"));
  EXPECT_THAT(converted.data_deps("second"), ElementsAre("call"));
  EXPECT_THAT(converted.data_deps("inner call"), ElementsAre("second"));
  EXPECT_THAT(converted.ctrl_deps("outer"), IsEmpty());
  EXPECT_THAT(converted.ctrl_deps("call"), ElementsAre("outer"));
  EXPECT_THAT(converted.ctrl_deps("second"), ElementsAre("outer"));
  EXPECT_THAT(converted.ctrl_deps("inner call"), ElementsAre("second"));
  EXPECT_EQ(converted.number("call", "thread"), Profile::kMainThread);
  EXPECT_EQ(converted.text("call", "category"), "cuda_runtime");
}

TEST(HostThreads, ALongStretchBehindANestedOpIsANodeOfItsOwn) {
  Profile profile;
  profile.op("outer", {.start = 0, .length = 200});
  profile.op("first", {.start = 30, .length = 10});
  profile.op("second", {.start = 120, .length = 60});
  const Converted converted = convert(profile);
  // 80 between the two are a gap. Before `first` 30 and behind `second` 20 are the op's own.
  EXPECT_EQ(converted.microseconds("outer"), 50);
  EXPECT_EQ(converted.microseconds("host gap"), 80);
  EXPECT_THAT(converted.data_deps("host gap"), ElementsAre("first"));
  EXPECT_THAT(converted.ctrl_deps("host gap"), ElementsAre("outer"));
  EXPECT_THAT(converted.data_deps("second"), ElementsAre("host gap"));
  EXPECT_EQ(converted.text("host gap", "category"), "host_gap");
  EXPECT_EQ(converted.nodes.start(converted.row("host gap")), Nanoseconds{40'000});
  EXPECT_EQ(converted.report().gaps, 1);
}

TEST(HostThreads, ShortStretchesAddUpToAGap) {
  Profile profile;
  profile.op("outer", {.start = 0, .length = 150});
  for (int i = 0; i < 5; ++i) profile.op(format("op {}", i), {.start = 30 * i, .length = 10});
  const Converted converted = convert(profile);
  // Behind each of the ops 20 pass, behind the last 20: two of these fit into 50. The next three are 60, of
  // which the third makes more than 50.
  EXPECT_EQ(converted.microseconds("outer"), 40);
  EXPECT_EQ(converted.microseconds("host gap"), 60);
  EXPECT_THAT(converted.data_deps("host gap"), ElementsAre("op 4"));
}

TEST(HostThreads, TimeOutsideOfAllOpsPassesToo) {
  Profile profile;
  profile.op("first", {.start = 0, .length = 10});
  profile.op("second", {.start = 40, .length = 10});   // 30 behind the first
  profile.op("third", {.start = 80, .length = 10});    // 30 more: a gap of 60 in all
  profile.op("fourth", {.start = 500, .length = 10});  // 410
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.report().gaps, 2);
  EXPECT_EQ(converted.replayed("second"), 10);
  EXPECT_EQ(converted.replayed("third"), 80);
  EXPECT_EQ(converted.replayed("fourth"), 500);
}

TEST(HostThreads, AReplayStartsEveryOpWhereItWas) {
  Profile profile;
  profile.annotation("step", {.start = 0, .length = 10'000});
  for (int i = 0; i < 90; ++i) {
    profile.op(format("op {}", i), {.start = 20 + 110 * i, .length = 100});
    profile.op(format("inner {}", i), {.start = 30 + 110 * i, .length = 70});
  }
  const Converted converted = convert(profile);
  for (int i = 0; i < 90; ++i) {
    // Each op has up to 20 of its own behind the nested one, which come before that; of the step up to 50 do,
    // and up to 50 are yet to come.
    EXPECT_LE(std::abs(converted.replayed(format("op {}", i)) - (20 + 110 * i)), 50);
    EXPECT_LE(std::abs(converted.replayed(format("inner {}", i)) - (30 + 110 * i)), 70);
  }
}

TEST(HostThreads, AnEventThatOverlapsTheOneAroundItGoesOnInTheBackground) {
  Profile profile;
  profile.op("outer", {.start = 0, .length = 50});
  profile.annotation("asynchronous", {.start = 10, .length = 200});
  profile.op("next", {.start = 50, .length = 10});
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.report().background, 1);
  EXPECT_EQ(converted.microseconds("outer"), 50);
  EXPECT_EQ(converted.microseconds("asynchronous"), 200);
  EXPECT_THAT(converted.data_deps("asynchronous"), ElementsAre("outer"));
  EXPECT_THAT(converted.data_deps("next"), ElementsAre("outer"));
}

TEST(HostThreads, AClockThatIsOffByOneDoesNotMakeBackground) {
  Profile profile;
  profile.op("outer", {.start = 0, .length = 50});
  profile.op("inner", {.start = 10, .length = 41});
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.report().background, 0);
  EXPECT_EQ(converted.microseconds("outer"), 10);
  EXPECT_EQ(converted.microseconds("inner"), 40);
  EXPECT_EQ(converted.number("inner", "inclusive_ns"), 41'000);
}

TEST(HostThreads, PhasesComeFromAutogradAndTheOptimizer) {
  Profile profile;
  profile.op("aten::linear", {.start = 0, .length = 20}, R"("Sequence number": 5)");
  profile.op("aten::t", {.start = 5, .length = 5});
  profile.op("aten::empty", {.start = 25, .length = 5});
  profile.op("autograd::engine::evaluate_function: AddmmBackward0", {.start = 40, .length = 30},
             R"("Sequence number": 5, "Fwd thread id": 1)");
  profile.op("aten::mm", {.start = 45, .length = 20});
  profile.call("cudaLaunchKernel", {.start = 50, .length = 5}, 9);
  profile.kernel("gemm", {.start = 60, .length = 5}, 9);
  profile.annotation("Optimizer.step#AdamW.step", {.start = 80, .length = 30});
  profile.op("aten::add_", {.start = 85, .length = 20});
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.text("aten::linear", "phase"), "forward");
  EXPECT_EQ(converted.text("aten::t", "phase"), "forward");
  EXPECT_EQ(converted.text("aten::empty", "phase"), std::nullopt);
  EXPECT_EQ(converted.text("aten::mm", "phase"), "backward");
  EXPECT_EQ(converted.text("gemm", "phase"), "backward");
  EXPECT_EQ(converted.text("aten::add_", "phase"), "optimizer");
}

TEST(HostThreads, LayersAreTheModulesAround) {
  Profile profile;
  profile.event("python_function", "nn.Module: Net_0", Profile::kProcess, Profile::kMainThread,
                {.start = 0, .length = 100}, "");
  profile.event("python_function", "model.py(12): forward", Profile::kProcess, Profile::kMainThread,
                {.start = 1, .length = 98}, "");
  profile.event("python_function", "nn.Module: Linear_1", Profile::kProcess, Profile::kMainThread,
                {.start = 10, .length = 30}, "");
  profile.op("aten::linear", {.start = 12, .length = 20}, R"("Sequence number": 5)");
  profile.op("aten::relu", {.start = 50, .length = 20}, R"("Sequence number": 6)");
  profile.op("autograd::engine::evaluate_function: AddmmBackward0", {.start = 20, .length = 30},
             R"("Sequence number": 5, "Fwd thread id": 1)", 200);
  profile.op("aten::mm", {.start = 25, .length = 20}, "", 200);
  profile.op("aten::late", {.start = 200, .length = 20});
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.text("aten::linear", "layer"), "Net_0.Linear_1");
  EXPECT_EQ(converted.text("aten::relu", "layer"), "Net_0");
  EXPECT_EQ(converted.text("aten::mm", "layer"), "Net_0.Linear_1");
  EXPECT_EQ(converted.text("aten::late", "layer"), std::nullopt);
  EXPECT_EQ(converted.report().dropped[static_cast<std::size_t>(KinetoCategory::kPythonFunction)], 3);
}

TEST(HostThreads, TimesBeforeZeroAreRefused) {
  Profile profile;
  profile.op("early", {.start = -5, .length = 10});
  EXPECT_THROW(convert(profile), Error);
}

TEST(HostThreads, StepsComeFromTheProfiler) {
  Profile profile;
  profile.annotation("ProfilerStep#3", {.start = 0, .length = 100});
  profile.call("cudaLaunchKernel", {.start = 90, .length = 5}, 9);
  profile.annotation("ProfilerStep#4", {.start = 100, .length = 100});
  profile.kernel("gemm", {.start = 120, .length = 5}, 9);
  profile.op("aten::mm", {.start = 100, .length = 5});
  profile.op("aten::late", {.start = 200, .length = 5});
  const Converted converted = convert(profile);
  EXPECT_EQ(converted.number("gemm", "step"), 3);  // when it was launched
  EXPECT_EQ(converted.number("aten::mm", "step"), 4);
  EXPECT_EQ(converted.number("aten::late", "step"), std::nullopt);
}

}  // namespace
}  // namespace nadi::inline traces
