#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/cuda/cuda_available.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

TEST(Devices, NamesTheCpuAndWhatItsKernelsUse) {
  const CliRun done = run("devices");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, HasSubstr("\nmatrix products "));
  const Json cpu = run_json("devices")["cpu"];
  EXPECT_GE(cpu["cores"], 1);
  EXPECT_GT(cpu["memory_bytes"], 0);
  EXPECT_EQ(cpu["usable"], true);
}

TEST(Devices, SaysWhetherCudaCanBeUsed) {
  const auto why = cuda::why_no_cuda();
  const Json root = run_json("devices");
  EXPECT_EQ(root["cuda"]["usable"], !why.has_value());
  if (why) {
    EXPECT_EQ(root["cuda"]["why_not"], why->reason);
    EXPECT_EQ(root["gpus"], Json::array());
    EXPECT_THAT(run("devices").out, HasSubstr(why->reason));
  } else {
    EXPECT_GE(root["gpus"].size(), 1u);
    EXPECT_GT(root["gpus"][0]["memory_bytes"], 0);
  }
}

TEST(Devices, ThatCannotBeUsedAreSaidWithTheReason) {
  const auto why = cuda::why_no_cuda();
  if (!why) GTEST_SKIP() << "CUDA can be used here";
  for (const char* line : {"train gpt2-tiny --max-steps 1 --device cuda",
                           "generate gpt2-tiny --num-input-tokens 2 --device cuda"}) {
    const CliRun done = run(line);
    EXPECT_EQ(done.code, 4) << line;
    EXPECT_EQ(done.err, "error: " + why->reason + "\n  hint: " + why->hint + "\n");
    EXPECT_EQ(done.out, "");
  }
}

// Workspaces and padding of a GPU are known without one.
TEST(Devices, AreShownWithoutBeingThere) {
  const Json memory = run_json("show gpt2-tiny --device cuda --dtype bf16")["device"];
  EXPECT_EQ(memory["name"], "cuda");
  EXPECT_GT(memory["memory"]["workspace_bytes"], 0);
  EXPECT_EQ(run("show gpt2-tiny --deterministic").code, 2);
}

TEST(Devices, TakesNoOtherArguments) {
  EXPECT_EQ(run("devices gpu").code, 2);
}

}  // namespace
}  // namespace nadi::inline show
