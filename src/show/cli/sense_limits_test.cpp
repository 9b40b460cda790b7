#include "nadi/cli/sense_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/process/find_program.h"
#include "nadi/process/usable_cores.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

template <class Call>
std::string limit_refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    return error.message() + " | " + error.hint();
  }
  return "no error";
}

TEST(SenseLimits, RanksAreEightForEachCore) {
  EXPECT_EQ(limit_refusal([] { check_ranks_on("--ranks", 16, 2); }), "no error");
  // 17 / 2 = 8.5: one core has nine.
  EXPECT_EQ(limit_refusal([] { check_ranks_on("--ranks", 17, 2); }),
            "--ranks 17: this machine has 2 cores; 9 ranks take turns on each, and every step takes about 9 "
            "times as long as on 2 ranks | at most 16 ranks make sense here; --oversubscribe starts them all "
            "the same");
}

TEST(SenseLimits, ThreadsAreFourForEachCore) {
  EXPECT_EQ(limit_refusal([] { check_threads_on("--threads", 4, 1); }), "no error");
  EXPECT_EQ(limit_refusal([] { check_threads_on("--threads", 5, 1); }),
            "--threads 5: this machine has 1 core, so that 5 threads take turns on each | at most 4 threads "
            "make sense here; --oversubscribe starts them all the same");
}

TEST(SenseLimits, HoldForEveryCommandThatStartsRanksOrThreads) {
  const std::string ranks = format("{}", kMostRanksPerCore * usable_cores() + 1);
  const std::string threads = format("{}", kMostThreadsPerCore * usable_cores() + 1);
  for (const std::string& words :
       {"launch -n " + ranks + " models", "launch --nproc_per_node=" + ranks + " models",
        "train gpt2-tiny --num-gpus " + ranks, "generate gpt2-tiny --tp " + ranks,
        "train gpt2-tiny --threads " + threads, "generate gpt2-tiny --threads " + threads,
        "calibrate -o x.json --threads " + threads,
        "plan gpt2 --cluster h200 --global-batch-size 8 --threads " + threads}) {
    const CliRun refused = run(words);
    EXPECT_EQ(refused.code, 4) << words << "\n" << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(": this machine has ")) << words;
    EXPECT_THAT(refused.err, HasSubstr("--oversubscribe")) << words;
  }
  // A plan for another machine is none of this one's business.
  EXPECT_EQ(
      run("train gpt2-tiny --max-seq-length 16 --dry-run --threads " + threads + " --num-ranks " + ranks)
          .code,
      0);
}

TEST(SenseLimits, OversubscribeLiftsThem) {
  const WorkingFolder folder;
  const std::string threads = format("{}", kMostThreadsPerCore * usable_cores() + 1);
  const CliRun done = run(
      "generate gpt2-tiny --num-input-tokens 2 --num-output-tokens 1 --oversubscribe --threads " + threads);
  EXPECT_EQ(done.code, 0) << done.err;
  if (!find_program("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  const std::string ranks = format("{}", kMostRanksPerCore * usable_cores() + 1);
  if (usable_cores() > 4) GTEST_SKIP() << "so many processes would take long";
  EXPECT_EQ(run("launch --oversubscribe -n " + ranks + " models").code, 0);
}

TEST(SenseLimits, TracesBeyondTheLimitAreRefusedWithTheEstimate) {
  const WorkingFolder folder;
  const CliRun refused = run("trace gpt2-tiny --max-bytes 10kB -o out/step");
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("error: the trace of 1 rank would take about "));
  EXPECT_THAT(refused.err, HasSubstr("; the limit is "));
  EXPECT_FALSE(std::filesystem::exists("out/step.0.et"));
  EXPECT_EQ(run("trace gpt2-tiny --max-bytes 10GB -o out/step").code, 0);
  EXPECT_EQ(run("trace collective all-reduce --bytes 1MB --ranks 100 --max-bytes 100kB -o out/c").code, 4);
  EXPECT_EQ(run("trace collective all-reduce --bytes 1MB --ranks 4 --max-bytes 100kB -o out/c").code, 0);
}

// 6 layers of GPT-3 on 64 x 64 x 250 ranks: whatever disk this machine has, terabytes are more.
TEST(SenseLimits, TracesBeyondTheDiskAreRefused) {
  const WorkingFolder folder;
  const CliRun refused =
      run("trace gpt3-175b --tensors all --batch-size 64 --micro-batch-size 1 --tp 8 --pp 16 --dp 4096 -o "
          "out/step");
  EXPECT_EQ(refused.code, 4) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("would take about "));
  EXPECT_THAT(refused.err, HasSubstr(" are free on the disk of "));
  EXPECT_THAT(refused.err, HasSubstr("--max-bytes"));
  EXPECT_THAT(refused.err, Not(HasSubstr("out/step.0.et")));
}

}  // namespace
}  // namespace nadi::inline show
