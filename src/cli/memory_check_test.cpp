#include "nadi/cli/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/job/find_program.h"

namespace nadi {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

std::string message_of(const std::vector<RankMemory>& ranks, StepKind kind = StepKind::kTrain) {
  try {
    check_memory(ranks, kind);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    return format("{} | {}", error.what(), error.hint());
  }
}

// Two ranks of 6 GiB each fit a machine of 12 GiB and not one of 11.
TEST(MemoryCheck, SumsTheRanksOfAMachine) {
  RankMemory rank{.machine = 1, .needed = 6 * kGiB, .state = 2 * kGiB, .machine_free = 12 * kGiB};
  EXPECT_EQ(message_of({rank, rank}), "");
  rank.machine_free = 11 * kGiB;
  EXPECT_EQ(message_of({rank}), "");
  EXPECT_THAT(
      message_of({rank, rank}),
      HasSubstr("not enough memory: the 2 ranks on this machine need 12.0 GiB, and 11.0 GiB are free"));
  EXPECT_THAT(message_of({rank, rank}), HasSubstr("--recompute full"));
  RankMemory elsewhere = rank;
  elsewhere.machine = 2;
  EXPECT_EQ(message_of({rank, elsewhere}), "");
  EXPECT_THAT(message_of({rank, elsewhere, elsewhere}),
              HasSubstr("the 2 ranks on the machine of rank 1 need 12.0 GiB"));
}

TEST(MemoryCheck, CountsWhatAControlGroupAllows) {
  RankMemory rank{.machine = 1,
                  .group = 7,
                  .needed = 6 * kGiB,
                  .state = 5 * kGiB,
                  .machine_free = 64 * kGiB,
                  .group_free = 8 * kGiB,
                  .group_limit = 9 * kGiB};
  EXPECT_EQ(message_of({rank}), "");
  EXPECT_THAT(
      message_of({rank, rank}),
      HasSubstr("need 12.0 GiB, and 8.00 GiB are free of the 9.00 GiB that its control group allows"));
  EXPECT_THAT(message_of({rank, rank}), HasSubstr("optimizer state alone need 10.0 GiB"));
  RankMemory beside = rank;  // a group for each rank
  beside.group = 8;
  EXPECT_EQ(message_of({rank, beside}), "");
  rank.machine_free = beside.machine_free = 10 * kGiB;
  EXPECT_THAT(message_of({rank, beside}), HasSubstr("need 12.0 GiB, and 10.0 GiB are free there"));
}

TEST(MemoryCheck, DoesNotGuessWhereTheSystemIsSilent) {
  EXPECT_EQ(message_of({{.machine = 1, .needed = 1000 * kGiB}}), "");
}

// 175 billion parameters with AdamW are 16 bytes each: 2.5 TiB.
TEST(MemoryCheck, IsAskedBeforeMemoryIsTaken) {
  const WorkingFolder folder;
  const CliRun alone = run("train gpt3-175b");
  EXPECT_EQ(alone.code, 4);
  EXPECT_THAT(alone.err, HasSubstr("error: not enough memory: this run needs 2."));
  EXPECT_THAT(alone.err, HasSubstr(" TiB, and "));
  EXPECT_THAT(alone.err, HasSubstr("free"));
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
  EXPECT_THAT(run("train --help").out, HasSubstr("--no-memory-check"));
  EXPECT_THAT(run("generate --help").out, HasSubstr("--no-memory-check"));
  const CliRun done = run("generate gpt2-tiny --num-input-tokens 4 --num-output-tokens 2 --no-memory-check");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, Not(HasSubstr("memory")));
}

}  // namespace
}  // namespace nadi
