#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/process/find_program.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

// 175 billion parameters with AdamW are 16 bytes each: 2.5 TiB.
TEST(MemoryCheck, IsAskedBeforeMemoryIsTaken) {
  const WorkingFolder folder;
  const CliRun alone = run("train gpt3-175b");
  EXPECT_EQ(alone.code, 4);
  EXPECT_THAT(alone.err, HasSubstr("error: not enough memory: this run needs 2."));
  EXPECT_THAT(alone.err, HasSubstr(" TiB, and "));
  EXPECT_THAT(alone.err, HasSubstr("free"));
  EXPECT_THAT(alone.err, HasSubstr("optimizer state alone need 2."));
  const CliRun generating = run("generate gpt3-175b --num-input-tokens 4");
  EXPECT_EQ(generating.code, 4);
  EXPECT_THAT(generating.err, HasSubstr("the weights alone need"));
  if (!find_program("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  const CliRun launched = run("launch -n 2 train gpt3-175b");
  EXPECT_EQ(launched.code, 4);
  EXPECT_THAT(launched.err, HasSubstr("not enough memory: the 2 ranks on this machine need 5."));
}

TEST(MemoryCheck, IsLeftOutWhenTheUserSaysSo) {
  const WorkingFolder folder;
  EXPECT_THAT(run("train --help-all").out, HasSubstr("--no-memory-check"));
  EXPECT_THAT(run("generate --help-all").out, HasSubstr("--no-memory-check"));
  const CliRun done = run("generate gpt2-tiny --num-input-tokens 4 --num-output-tokens 2 --no-memory-check");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, Not(HasSubstr("memory")));
}

}  // namespace
}  // namespace nadi::inline show
