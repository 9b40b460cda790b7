// Ranks that a command starts itself or was started as, and what becomes of their output.
#include "nadi/cli/start_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "nadi/cli/run_for_tests.h"
#include "nadi/process/find_program.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

constexpr const char* kGenerate = "generate gpt2-tiny --num-input-tokens 5 --num-output-tokens 6 --greedy";

class RanksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_program("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  }
  const WorkingFolder folder_;
};

TEST(TorchrunTest, IsToldWhatToUseInstead) {
  setenv("RANK", "1", 1);
  setenv("WORLD_SIZE", "4", 1);
  setenv("MASTER_ADDR", "localhost", 1);
  for (const char* command : {"train gpt2-tiny", kGenerate}) {
    const CliRun refused = run(command);
    EXPECT_EQ(refused.code, 2) << command;
    EXPECT_THAT(refused.err, HasSubstr("this process is rank 1 of 4 by RANK, WORLD_SIZE and MASTER_ADDR"));
    EXPECT_THAT(refused.err, HasSubstr("nadi launch -n 4"));
  }
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR"}) unsetenv(name);
}

TEST_F(RanksTest, GenerateStartsThemItself) {
  const CliRun alone = run(kGenerate);
  const CliRun two = run(std::string(kGenerate) + " --tp 2");
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(two.out, alone.out);
  EXPECT_EQ(run_json(std::string(kGenerate) + " --tp 2")["generations"].size(), 1U);
}

TEST_F(RanksTest, NotesOnTheCommandLineArePrintedOnce) {
  const CliRun two = run(
      "train gpt2-tiny --num-ranks 2 --mock-data --max-seq-length 16 --max-steps 1 --skip-eval --threads 1 "
      "--seed 1 --seed 2");
  EXPECT_EQ(two.code, 0) << two.err;
  const std::string note = "note: --seed was given 2 times; the last counts: 2\n";
  EXPECT_THAT(two.err, HasSubstr(note));
  EXPECT_EQ(two.err.find(note), two.err.rfind(note)) << two.err;
}

TEST_F(RanksTest, LaunchedJsonIsOneDocument) {
  const Json generated = run_json(std::string("launch -n 2 ") + kGenerate);
  EXPECT_EQ(generated["num_output_tokens"], 6);
  EXPECT_EQ(run_json("launch -n 2 show gpt2")["model"], run_json("show gpt2")["model"]);
  const Json trained = run_json(
      "launch -n 2 train gpt2-tiny --mock-data --max-seq-length 16 --max-steps 1 --skip-eval --threads 1");
  EXPECT_EQ(trained["steps"], 1);
}

// The launcher says it in the environment. A rank that takes 50 times as long shows it in any weather.
TEST(SlowRanksTest, GenerateIsSlowed) {
  const WorkingFolder folder;
  const auto seconds = [] {
    return run_json(std::string(kGenerate) + " --threads 1")["decode_seconds"].get<double>();
  };
  const double usual = seconds();
  setenv("NADI_SLOW", "0:50", 1);
  const double slow = seconds();
  unsetenv("NADI_SLOW");
  EXPECT_GT(slow, 5 * usual);
  EXPECT_GT(run_json(std::string(kGenerate) + " --threads 1 --slow 0:50")["decode_seconds"].get<double>(),
            5 * usual);
}

}  // namespace
}  // namespace nadi::inline show
