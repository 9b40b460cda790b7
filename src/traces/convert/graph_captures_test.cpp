#include "nadi/convert/graph_captures.h"

#include <gmock/gmock.h>

#include "nadi/convert/profile_for_tests.h"

namespace nadi::inline traces {
namespace {

// A capture from 0 to 100: of two modules, each with a launch, and a copy behind them.
class CapturedProfile : public Profile {
 public:
  explicit CapturedProfile(bool named, int first_correlation = 1, std::int64_t at = 0) : named_(named) {
    add_capture(first_correlation, at);
  }

  void add_capture(int correlation, std::int64_t at, std::string_view suffix = "") {
    call("hipStreamBeginCapture", {.start = at, .length = 1}, 0);
    module(format("First{}", suffix), {.start = at + 10, .length = 20});
    captured("hipLaunchKernel", "a", at + 15, correlation);
    module(format("Second{}", suffix), {.start = at + 40, .length = 20});
    captured("hipExtModuleLaunchKernel", "b", at + 45, correlation + 1);
    call("hipMemcpyAsync", {.start = at + 70, .length = 5}, correlation + 2);
    call("hipStreamEndCapture", {.start = at + 100, .length = 1}, 0);
  }

  void module(std::string_view name, EventTime time) {
    event("python_function", format("nn.Module: {}", name), kProcess, kMainThread, time, "");
  }

  void captured(std::string_view call, std::string_view kernel, std::int64_t at, int correlation) {
    event("cuda_runtime", call, kProcess, kMainThread, {.start = at, .length = 5},
          named_ ? format(R"("correlation": {}, "kernel": "{}")", correlation, kernel)
                 : format(R"("correlation": {})", correlation));
  }

 private:
  bool named_;
};

std::string layer_of(const Converted& converted, std::string_view node) {
  return std::string(converted.text(node, "layer").value_or(""));
}

TEST(GraphCaptures, KernelsOfAGraphHaveTheModulesOfItsCapture) {
  CapturedProfile profile(/*named=*/true);
  profile.module("Runner", {.start = 195, .length = 20});
  profile.call("hipGraphLaunch", {.start = 200, .length = 10}, 50);
  profile.kernel("a", {.start = 220, .length = 10}, 50);
  profile.kernel("b", {.start = 230, .length = 10}, 50);
  profile.copy("Memcpy DtoD", {.start = 240, .length = 10}, 50);
  const Converted converted = convert(profile);
  EXPECT_EQ(layer_of(converted, "a"), "First");
  EXPECT_EQ(layer_of(converted, "b"), "Second");
  EXPECT_EQ(layer_of(converted, "Memcpy DtoD"), "");  // was captured outside of modules
  EXPECT_THAT(converted.data_deps("a"), testing::ElementsAre("hipGraphLaunch"));
}

TEST(GraphCaptures, CallsWithoutNamesOfKernelsMatchByTheirKindsAlone) {
  CapturedProfile profile(/*named=*/false);
  profile.call("hipGraphLaunch", {.start = 200, .length = 10}, 50);
  profile.kernel("x", {.start = 220, .length = 10}, 50);
  profile.kernel("y", {.start = 230, .length = 10}, 50);
  profile.copy("Memcpy DtoD", {.start = 240, .length = 10}, 50);
  EXPECT_EQ(layer_of(convert(profile), "y"), "Second");
}

TEST(GraphCaptures, WorkThatWasNotCapturedSoHasNoModuleOfTheCapture) {
  CapturedProfile other_kernel(/*named=*/true);
  other_kernel.call("hipGraphLaunch", {.start = 200, .length = 10}, 50);
  other_kernel.kernel("a", {.start = 220, .length = 10}, 50);
  other_kernel.kernel("c", {.start = 230, .length = 10}, 50);
  other_kernel.copy("Memcpy DtoD", {.start = 240, .length = 10}, 50);
  EXPECT_EQ(layer_of(convert(other_kernel), "a"), "");

  CapturedProfile too_few(/*named=*/true);
  too_few.call("hipGraphLaunch", {.start = 200, .length = 10}, 50);
  too_few.kernel("a", {.start = 220, .length = 10}, 50);
  too_few.kernel("b", {.start = 230, .length = 10}, 50);
  EXPECT_EQ(layer_of(convert(too_few), "a"), "");

  CapturedProfile earlier(/*named=*/true, 1, 300);
  earlier.call("hipGraphLaunch", {.start = 200, .length = 10}, 50);
  earlier.kernel("a", {.start = 220, .length = 10}, 50);
  earlier.kernel("b", {.start = 230, .length = 10}, 50);
  earlier.copy("Memcpy DtoD", {.start = 240, .length = 10}, 50);
  EXPECT_EQ(layer_of(convert(earlier), "a"), "");
}

TEST(GraphCaptures, OfTwoThatAreTheSameNoneIsTaken) {
  CapturedProfile profile(/*named=*/true);
  profile.add_capture(11, 110, "Again");
  profile.call("hipGraphLaunch", {.start = 300, .length = 10}, 50);
  profile.kernel("a", {.start = 320, .length = 10}, 50);
  profile.kernel("b", {.start = 330, .length = 10}, 50);
  profile.copy("Memcpy DtoD", {.start = 340, .length = 10}, 50);
  EXPECT_EQ(layer_of(convert(profile), "a"), "");
}

}  // namespace
}  // namespace nadi::inline traces
