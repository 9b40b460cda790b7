// What `nadi train` asks before it works: whether it may save, trace and compute as it was told to. And what
// happens when nobody reads what it prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>

#include "nadi/base/format.h"
#include "nadi/cli/run_cli.h"
#include "nadi/cli/train_for_tests.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/terminal/wrap.h"
#include "nadi/train/run_lock.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class TrainStartTest : public TrainFolder {};

TEST_F(TrainStartTest, TwoRunsDoNotSaveInOneFolder) {
  fs::create_directory("out");
  {
    const RunLock other("out");
    const CliRun refused = train({{"--save-dir", "out"}});
    EXPECT_EQ(refused.code, 4);
    EXPECT_THAT(
        refused.err,
        HasSubstr(format("error: out: another run saves its checkpoints here: process {} on ", getpid())));
    EXPECT_THAT(refused.err, Not(HasSubstr("step 1/4")));
  }
  EXPECT_EQ(train({{"--save-dir", "out"}}).code, 0);
  EXPECT_FALSE(fs::exists(fs::path("out") / kRunLockFile));
}

TEST_F(TrainStartTest, AFolderForTracesIsTriedFirst) {
  const CliRun refused = train({{"--enable-tracing", ""}, {"--trace-output-dir", "squad.json/traces"}});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err,
              HasSubstr("error: squad.json/traces: cannot write to the folder: Not a directory\n"));
  EXPECT_THAT(refused.err, Not(HasSubstr("step 1/4")));
  EXPECT_EQ(train({{"--enable-tracing", ""}, {"--trace-output-dir", "traces/new"}}).code, 0);
}

// The usual window is 1 + 1 + 1 steps.
TEST_F(TrainStartTest, ARunTooShortForItsTracingWindowSaysSoFirst) {
  const CliRun two = train({{"--enable-tracing", ""}, {"--max-steps", "2"}, {"--logging-steps", "1"}});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err,
              HasSubstr("error: nothing would be traced: the run has 2 steps, and its tracing window 3 "
                        "(wait 1, warm-up 1, active 1)\n"
                        "  hint: --trace-wait 0 --trace-warmup 1 --trace-active 1 fit\n"));
  EXPECT_THAT(two.err, Not(HasSubstr("step 1/2")));
  const CliRun longer = train({{"--enable-tracing", ""}, {"--trace-active", "3"}, {"--force", ""}});
  EXPECT_THAT(longer.err, HasSubstr("only 2 of 3 steps will be traced; --trace-wait 0 --trace-warmup 1 "
                                    "--trace-active 3 fit\n"));
  const CliRun enough = train({{"--enable-tracing", ""}, {"--max-steps", "3"}, {"--force", ""}});
  EXPECT_THAT(enough.err, Not(HasSubstr("tracing window")));
  const CliRun advised = train({{"--enable-tracing", ""},
                                {"--max-steps", "2"},
                                {"--trace-wait", "0"},
                                {"--trace-warmup", "1"},
                                {"--trace-active", "1"},
                                {"--force", ""}});
  EXPECT_THAT(advised.err, Not(HasSubstr("tracing window")));
}

TEST_F(TrainStartTest, ThreadsOfTheEnvironmentAreANumber) {
  for (const char* value : {"two", "2x", "0", "-1", ""}) {
    setenv("NADI_THREADS", value, 1);
    const CliRun refused = train({{"--threads", ""}});
    EXPECT_EQ(refused.code, 2) << value;
    EXPECT_THAT(refused.err,
                HasSubstr(format("error: NADI_THREADS is '{}', not a number of threads from 1 on\n", value)));
  }
  setenv("NADI_THREADS", "2", 1);
  EXPECT_EQ(train({{"--threads", ""}}).code, 0);
  unsetenv("NADI_THREADS");
}

// `nadi train ... | head`: what was trained is saved, and the exit code is not that of a run that is done.
TEST_F(TrainStartTest, WhereNobodyReadsTheRunIsSavedAndFails) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  OutputStream out(ends[1], "standard output");
  std::ostringstream err;
  Console console{.out = out, .err = err};
  EXPECT_EQ(run_cli(words_of(command({{"--save-dir", "out"}, {"--logging-steps", "1"}})), console), 1);
  EXPECT_THAT(err.str(),
              HasSubstr("error: nobody reads standard output any more: stopped after step 1, saved as "
                        "out/checkpoint-1\n"));
  EXPECT_TRUE(fs::exists("out/checkpoint-1/training_state.json"));
  close(ends[1]);
}

// What Megatron's converter makes: weights as iteration 1, whose arguments have the model's positions (32)
// for the length of the sequence.
TEST_F(TrainStartTest, AConvertedCheckpointStartsAnOptimizerAndTheLengthIsTheRuns) {
  ASSERT_EQ(train({{"--save-dir", "out"}, {"--max-steps", "2"}}).code, 0);
  ASSERT_EQ(run("checkpoint convert --load-dir out/best_model --save-dir mega --saver core").code, 0);
  const std::string note =
      "note: mega/iter_0000001 has no optimizer state: starting from its weights with a new optimizer\n";
  const CliRun started = train({{"--load", "mega"}, {"--save-dir", "new"}});
  EXPECT_EQ(started.code, 0) << started.err;
  EXPECT_THAT(started.err, HasSubstr(note));
  EXPECT_TRUE(fs::exists("new/checkpoint-4/training_state.json"));
  // Scripts of Megatron say themselves that there is none.
  const CliRun said = train({{"--load", "mega"}, {"--no-load-optim", ""}, {"--save-dir", "same"}});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(read_text("new/checkpoint-4/model.safetensors") ==
              read_text("same/checkpoint-4/model.safetensors"));
}

TEST_F(TrainStartTest, ATrainingWithoutItsOptimizerIsContinuedWithANewOne) {
  ASSERT_EQ(train({{"--save-dir", "out"}, {"--max-steps", "2"}}).code, 0);
  ASSERT_EQ(
      run("checkpoint convert --no-optimizer --load-dir out/checkpoint-2 --save-dir mega --to megatron").code,
      0);
  // With flags of Megatron's, its seed is the default.
  const CliRun continued =
      train({{"--load", "mega"}, {"--save-dir", "new"}, {"--logging-steps", "1"}, {"--seed", "42"}});
  EXPECT_EQ(continued.code, 0) << continued.err;
  EXPECT_THAT(continued.err,
              HasSubstr("note: mega/iter_0000002 has no optimizer state: continuing after step 2 "
                        "with a new optimizer\n"));
  EXPECT_THAT(continued.err + continued.out, Not(HasSubstr("step 2/4")));
  EXPECT_TRUE(fs::exists("new/checkpoint-4"));
}

TEST_F(TrainStartTest, ResumingOnesOwnRunStaysStrict) {
  ASSERT_EQ(
      train({{"--save-dir", "out"}, {"--max-steps", "2"}, {"--no-save-optim", ""}, {"--seed", "42"}}).code,
      0);
  EXPECT_EQ(train({{"--save-dir", "out"}, {"--resume", ""}, {"--seed", "42"}}).code, 3)
      << "without optimizer state";
  EXPECT_EQ(train({{"--load", "out"}, {"--save-dir", "new"}, {"--seed", "42"}}).code, 3);
  ASSERT_EQ(train({{"--save-dir", "whole"}, {"--max-steps", "2"}}).code, 0);
  const CliRun longer = train({{"--save-dir", "whole"}, {"--resume", ""}, {"--max-seq-length", "32"}});
  EXPECT_EQ(longer.code, 2);
  EXPECT_THAT(longer.err, HasSubstr("the run was started with sequence length 16, not 32"));
}

// A tokenizer that lies in the cache was not asked for.
TEST_F(TrainStartTest, ATokenizerOfTheCacheThatDoesNotFitIsPassedOver) {
  fs::create_directories("cache/gpt2");
  fs::copy("tok", "cache/gpt2");  // 260 tokens
  write_text("narrow.json", R"({"model_type": "gpt2", "vocab_size": 258, "n_positions": 32, "n_embd": 16,
                                "n_layer": 1, "n_head": 2})");
  const CliRun done = train({{"--tokenizer", ""}}, "narrow.json");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err,
              HasSubstr("warning: no tokenizer is given, and cache/gpt2 does not fit (the tokenizer has 260 "
                        "tokens, but the vocabulary of the model has 258): trained one of "));
  EXPECT_EQ(train({{"--tokenizer", "cache/gpt2"}}, "narrow.json").code, 3) << "this one was asked for";

  // A BERT whose place has a tokenizer of another kind.
  fs::create_directories("cache/bert-base-uncased");
  fs::copy("tok", "cache/bert-base-uncased");
  const CliRun bert = train({{"--tokenizer", ""}, {"--max-steps", "1"}}, "bert-tiny");
  EXPECT_EQ(bert.code, 0) << bert.err;
  EXPECT_THAT(bert.err, HasSubstr("cache/bert-base-uncased does not fit (the tokenizer has no [CLS]"));
}

}  // namespace
}  // namespace nadi::inline show
