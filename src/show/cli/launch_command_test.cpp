#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/job_files/resumed_words.h"
#include "nadi/launch/launch_token.h"
#include "nadi/process/find_program.h"
#include "nadi/testing/temporary_variable.h"

namespace nadi::inline show {
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
      {"launch --nproc_per_node=2 --nnodes=2 models --jsno", "error: models: unknown flag '--jsno'\n"},
      {"launch --nnodes=2 models", "error: --nproc-per-node is missing\n"},
      {"launch -n 2 --nnodes=2 models", "error: --ranks counts the ranks of a job on one machine"},
      {"launch -n 2 --nproc-per-node 3 models",
       "error: --ranks 2 and --nproc-per-node 3 contradict each other\n"},
      {"launch --nproc-per-node 2 --nnodes 0 models",
       "error: --nnodes takes a number of machines from 1 to 4096, not '0'\n"},
      {"launch --nproc-per-node 2 --nnodes 1:4 models",
       "error: --nnodes 1:4: the number of machines of a job is fixed\n  hint: --nnodes 4\n"},
      {"launch --nproc-per-node 2 --nnodes 2 --node_rank 2 models",
       "error: --node-rank 2: the machines of --nnodes 2 are 0 to 1\n"},
      {"launch --nproc-per-node 2 --master_port 65536 models",
       "error: --master-port 65536: the last port is 65535\n"},
      {"launch --nproc-per-node 2 --nnodes 2 --hosts a:2 models",
       "error: --hosts and --nnodes contradict each other\n"},
      {"launch --nproc-per-node 2 --nnodes 2 --node-rank 0 --master-addr 192.0.2.77 models",
       "error: the master address '192.0.2.77' is not an address of this machine\n"},
      {"launch --nproc_per_node=2 gpt2/train.py --model-name gpt2",
       "error: 'gpt2/train.py' is a program of Python; launch runs commands of nadi\n  hint: write 'train' "
       "in "
       "its place"},
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

// torchrun's line for one machine, in both spellings.
TEST(LaunchCommand, TakesTheFlagsOfTorchrun) {
  if (!find_program("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  const std::string usual = run("launch -n 1 models").out;
  EXPECT_EQ(
      run("launch --nproc_per_node=1 --nnodes=1 --node_rank=0 --master_addr=localhost --master_port=29500 "
          "models")
          .out,
      usual);
  EXPECT_EQ(run("launch --nproc-per-node 1 --nnodes 1:1 --node-rank 0 --master-addr localhost --master-port "
                "29500 models")
                .out,
            usual);
}

TEST(LaunchCommand, WaitsForTheOthersNoLongerThanItIsTold) {
  const TemporaryVariable token(kTokenVariable, "a token for this test alone");
  const std::string nodes = "--nproc-per-node 1 --nnodes 2 --join-timeout 1 --master-port 29761 models";
  const CliRun host = run("launch --node-rank 0 " + nodes);
  EXPECT_EQ(host.code, 4);
  EXPECT_THAT(host.err, HasSubstr("note: waiting at 127.0.0.1:29761 for 1 other launch\n"));
  EXPECT_THAT(host.err, HasSubstr("error: node 1 of 2 did not come to 127.0.0.1:29761 within 1 s\n"));
  EXPECT_THAT(host.err, HasSubstr("hint: start a launch with --node-rank N for each of them"));
  if (!find_program("orted")) GTEST_SKIP() << "no orted on PATH";
  const CliRun guest = run("launch --node-rank 1 " + nodes);
  EXPECT_EQ(guest.code, 4);
  EXPECT_THAT(guest.err, HasSubstr("note: waiting for the launch of node 0 at 127.0.0.1:29761\n"));
  EXPECT_THAT(guest.err, HasSubstr("error: nobody listens at 127.0.0.1:29761 for 1 s\n"));
  EXPECT_THAT(guest.err, HasSubstr("hint: start the launch with --node-rank 0 on the machine"));
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
}  // namespace nadi::inline show
