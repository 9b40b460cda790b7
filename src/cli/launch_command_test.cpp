#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/job/find_program.h"
#include "nadi/scheduler/resumed_words.h"

namespace nadi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LaunchCommand, RefusesWhatMakesNoSenseBeforeAnythingStarts) {
  const std::pair<const char*, const char*> cases[]{
      {"launch",
       "error: COMMAND is missing\n  hint: for example: nadi launch -n 2 train gpt2-tiny --batch-size 2 "
       "--max-seq-length 32 --max-steps 2 --skip-eval\n"},
      {"launch models", "error: --ranks is missing\n  hint: nadi launch -n 2 train ... starts two ranks\n"},
      {"launch -n 0 models", "error: --ranks takes a whole number of at least 1, not '0'\n"},
      {"launch -n 9999999 models", "error: --ranks is 9999999, limit 1048576\n"},
      {"launch -n 2 --jsno models", "error: unknown flag '--jsno'\n"},
      {"launch -n 2 modles", "error: unknown command 'modles'\n  hint: did you mean 'models'?"},
      {"launch -n 2 launch -n 2 models", "error: launch cannot launch itself\n"},
      {"launch -n 2 train gpt2 --btach-size 4",
       "error: train: unknown flag '--btach-size'\n  hint: did you mean '--batch-size'?\n"},
      {"launch -n 2 models gpt2",
       "error: models: unexpected argument 'gpt2'\n  hint: see 'nadi models --help'"},
      {"launch -n 2 --slow rank=2:2x models", "error: --slow: rank 2 does not exist; the ranks are 0 to 1\n"},
      {"launch -n 2 --slow 1:2 --slow 1:3 models", "error: --slow: rank 1 is named twice\n"},
      {"launch -n 5 --hosts a:2,b:2 models", "error: --hosts has room for 4 ranks, not 5\n"},
      {"launch -n 3 --hosts a,b models", "error: --hosts has room for 2 ranks, not 3\n"},
      {"launch -n 2 --hosts a:x models", "error: 'a:x' is not a host with its number of ranks\n"},
      {"launch -n 2 --hosts a:2,:2 models", "error: ':2' is not a host with its number of ranks\n"},
      {"launch -n 2 --hosts a:2, models", "error: '' is not a host with its number of ranks\n"},
      {"launch -n 2 --hosts a:2 --hostfile f models",
       "error: --hosts and --hostfile contradict each other\n"},
      {"launch -n 2 --max-restarts -1 models",
       "error: --max-restarts takes a whole number of at least 0, not '-1'\n"},
  };
  for (const auto& [words, message] : cases) {
    const CliRun done = run(words);
    EXPECT_EQ(done.code, 2) << words;
    EXPECT_THAT(done.err, testing::StartsWith(message)) << words;
    EXPECT_EQ(done.out, "") << words;
  }
  const CliRun no_file = run("launch -n 2 --hostfile nowhere.txt models");
  EXPECT_EQ(no_file.code, 3);
  EXPECT_EQ(no_file.err, "error: nowhere.txt: no such file or folder\n");
}

TEST(LaunchCommand, ShowsTheHelpOfWhatItRuns) {
  EXPECT_EQ(run("launch -n 2 models --help").out, run("models --help").out);
  EXPECT_EQ(run("launch --help models").out, run("launch --help").out);
}

TEST(LaunchCommand, PrefixesLinesWithTheRank) {
  if (!find_program("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  const CliRun done = run("launch -n 2 models");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("[0] gpt2-tiny"));
  EXPECT_THAT(done.out, HasSubstr("[1] gpt2-tiny"));
  const CliRun plain = run("launch -n 1 --no-prefix models");
  EXPECT_EQ(plain.out, run("models").out);
}

TEST(LaunchCommand, EndsWithTheExitCodeOfTheRankThatFailed) {
  if (!find_program("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  const CliRun done = run("launch -n 2 --max-restarts 3 show nowhere.et");
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.err, HasSubstr("] error: nowhere.et"));
  EXPECT_THAT(done.err, HasSubstr("failed with exit code 3\n"));
  EXPECT_EQ(done.err.find("nowhere.et"), done.err.rfind("nowhere.et")) << "said once: " << done.err;
  EXPECT_THAT(done.err, testing::Not(HasSubstr("starting again"))) << "a mistake is only made again";
}

TEST(WordsToResume, AddResumeWhereTrainingSaves) {
  EXPECT_THAT(words_to_resume({"train", "gpt2", "--save-dir", "out"}),
              ElementsAre("train", "gpt2", "--save-dir", "out", "--resume-if-any"));
  EXPECT_THAT(words_to_resume({"train", "gpt2", "--save_dir=out"}),
              ElementsAre("train", "gpt2", "--save_dir=out", "--resume-if-any"));
  EXPECT_THAT(words_to_resume({"train", "gpt", "--save", "out", "--resume"}),
              ElementsAre("train", "gpt", "--save", "out", "--resume"));
  EXPECT_THAT(words_to_resume({"train", "gpt2"}), ElementsAre("train", "gpt2"));
  EXPECT_THAT(words_to_resume({"generate", "gpt2", "--save", "x"}),
              ElementsAre("generate", "gpt2", "--save", "x"));
}

}  // namespace
}  // namespace nadi
