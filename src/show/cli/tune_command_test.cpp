#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "nadi/base/json.h"
#include "nadi/cli/commands.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/study/study_storage.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class TuneCommandTest : public testing::Test {
 protected:
  static std::string tune(const std::string& flags, const std::string& command = "expr {{n}} + 0") {
    return "tune --param n=1..9 --metric '^([0-9]+)$' --minimize " + flags + " -- " + command;
  }
  static CliRun tuned(const std::string& flags) { return run(tune(flags)); }
  static Json study(const std::string& file) { return run_json("tune show " + file + " --json"); }

  WorkingFolder folder_;
};

// An SQLite file where the build has SQLite.
std::string study_file() {
  return has_sqlite() ? "study.db" : "study.journal";
}

// What a study keeps of its settings.
Json kept_settings(const std::string& file) {
  const auto storage = open_study_storage(file);
  return Json::parse(storage->studies().at(0).user_attributes.at("nadi_tune"));
}

TEST_F(TuneCommandTest, FindsTheBestAndSaysHowMuchBetterItIs) {
  const CliRun done = tuned("--trials 9 --default n=5 --study " + study_file());
  ASSERT_EQ(done.code, 0) << done.err;
  // Nine trials of nine points: all of them, and 1 is the least; the baseline is 5.
  EXPECT_THAT(done.out, HasSubstr("9 trials, 9 complete"));
  EXPECT_THAT(done.out, HasSubstr("best: metric 1 with n=1"));
  EXPECT_THAT(done.out, HasSubstr("baseline: metric 5 with n=5 (trial 0); the best is 80.0% lower"));
  EXPECT_THAT(done.out, HasSubstr("  expr 1 + 0\n"));
  EXPECT_EQ(run("tune best " + study_file() + " --emit command").out, "expr 1 + 0\n");
  EXPECT_EQ(run("tune best " + study_file()).out, "n=1\n");
  const CliRun again = tuned("--trials 9 --study " + study_file());
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("'nadi tune resume"));
}

TEST_F(TuneCommandTest, AProgramThatIsNotThereIsSaidBeforeAStudyBegins) {
  const CliRun missing = run(tune("--study " + study_file(), "nosuchprogram {{n}}"));
  EXPECT_EQ(missing.code, 4);
  EXPECT_THAT(missing.err, HasSubstr("cannot run 'nosuchprogram': there is no such program"));
  EXPECT_FALSE(fs::exists(study_file()));
  std::ofstream("plain.sh") << "echo 1\n";
  const CliRun plain = run(tune("--study " + study_file(), "./plain.sh {{n}}"));
  EXPECT_EQ(plain.code, 4);
  EXPECT_THAT(plain.err, HasSubstr("the file is not executable"));
  EXPECT_THAT(plain.err, HasSubstr("hint: chmod +x ./plain.sh"));
  EXPECT_FALSE(fs::exists(study_file()));
  // A dry run may be for another machine.
  const CliRun dry = run(tune("--dry-run", "nosuchprogram {{n}}"));
  EXPECT_EQ(dry.code, 0);
  EXPECT_THAT(dry.err, HasSubstr("warning: no trial could start: cannot run 'nosuchprogram'"));
}

// What ran without its program, and was repaired, is resumed with all its trials.
TEST_F(TuneCommandTest, TrialsThatCouldNotStartDoNotCount) {
  std::ofstream("one.sh") << "#!/bin/sh\nrm -f one.sh\necho $1\n";
  fs::permissions("one.sh", fs::perms::owner_all);
  // The program removes itself: the second trial finds none.
  const CliRun once = run(tune("--trials 4 --study " + study_file(), "./one.sh {{n}}"));
  EXPECT_THAT(once.out,
              HasSubstr("2 trials, 1 complete, 1 waiting; not counted: 1 whose command could not start"));
  EXPECT_EQ(run("tune resume " + study_file()).code, 4);
  std::ofstream("one.sh") << "#!/bin/sh\necho $1\n";
  fs::permissions("one.sh", fs::perms::owner_all);
  const CliRun done = run("tune resume " + study_file());
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("4 trials, 4 complete; not counted: 1 whose command could not start"));
}

TEST_F(TuneCommandTest, SeveralObjectivesHaveAFront) {
  // a = n, less is better; b = n, more is better: no point beats another, and all five are the front.
  const CliRun done =
      run("tune --param n=1..5 --metric a=pattern:a([0-9]+) --metric b=pattern:b([0-9]+) --minimize a "
          "--maximize b "
          "--trials 5 --study two.journal -- echo a{{n}}b{{n}}");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out,
              HasSubstr("front: 5 trials that no other beats in all objectives\ntrial  a  b  setting\n"));
  EXPECT_THAT(done.err, HasSubstr("trial 4: a"));
  EXPECT_THAT(done.err, HasSubstr(", on the front so far | n="));
  const Json json = study("two.journal");
  ASSERT_EQ(json["best"].size(), 5u);
  const Json first = json["trials"][json["best"][0].get<std::size_t>()];
  EXPECT_EQ(first["values"]["a"], 1.0) << "the best in the first objective comes first";
  const CliRun best = run("tune best two.journal");
  EXPECT_EQ(best.out, "n=1\n");
  EXPECT_THAT(best.err, ContainsRegex("note: 5 trials are on the front; trial [0-9] is the best in a"));
}

TEST_F(TuneCommandTest, ThePrunersSettingsAreKeptAndActAgain) {
  // Each trial prints n at steps 1 to 5, slowly: with an upper bound of 4.5, those of 5 and more are ended.
  const std::vector<std::string> words{"tune",
                                       "--param",
                                       "n=2,8",
                                       "--metric",
                                       "^([0-9]+)$",
                                       "--minimize",
                                       "--trials",
                                       "1",
                                       "--study",
                                       "p.journal",
                                       "--default",
                                       "n=2",
                                       "--pruner",
                                       "threshold",
                                       "--pruner-upper",
                                       "4.5",
                                       "--",
                                       "sh",
                                       "-c",
                                       "for i in 1 2 3 4 5 6 7 8; do echo {{n}}; sleep 0.15; done"};
  const CliRun begun = run_words(words);
  ASSERT_EQ(begun.code, 0) << begun.err;
  const CliRun resumed = run("tune resume p.journal --trials 2");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const Json json = study("p.journal");
  ASSERT_EQ(json["trials"].size(), 2u);
  EXPECT_EQ(json["trials"][0]["state"], "complete");
  EXPECT_EQ(json["trials"][1]["state"], "pruned");
  EXPECT_THAT(resumed.err, HasSubstr("4.5"));
}

TEST_F(TuneCommandTest, SettingsOfAnotherPrunerAreRefused) {
  const auto message = [](const std::string& flags) {
    const CliRun refused = tuned(flags + " --dry-run");
    EXPECT_EQ(refused.code, 2) << flags;
    return refused.err;
  };
  EXPECT_THAT(message("--pruner-patience 3"), HasSubstr("--pruner-patience needs --pruner"));
  EXPECT_THAT(message("--pruner median --pruner-patience 3"),
              HasSubstr("--pruner-patience is no setting of the pruner 'median'"));
  EXPECT_THAT(message("--pruner median --pruner-percentile 3"),
              HasSubstr("it belongs to --pruner percentile"));
  EXPECT_THAT(message("--pruner threshold"), HasSubstr("--pruner-lower X, --pruner-upper X"));
  EXPECT_THAT(message("--pruner threshold --pruner-lower 3 --pruner-upper 2"),
              HasSubstr("above the upper one"));
  EXPECT_THAT(message("--pruner threshold --pruner-lower x"), HasSubstr("takes a number, not 'x'"));
  EXPECT_THAT(message("--pruner percentile --pruner-percentile 101"), HasSubstr("between 0 and 100"));
  EXPECT_THAT(message("--pruner hyperband --pruner-reduction-factor 1"),
              HasSubstr("--pruner-reduction-factor"));
  EXPECT_THAT(message("--pruner hyperband --pruner-min-resource 9 --pruner-max-resource 3"),
              HasSubstr("steps"));
}

// Every flag of a pruner is another setting in the study.
TEST_F(TuneCommandTest, EveryFlagOfAPrunerActs) {
  struct Case {
    std::string flag, value, pruner, key;
    Json expected;
  };
  const std::vector<Case> cases{
      {"--pruner-startup-trials", "7", "median", "startup_trials", 7},
      {"--pruner-warmup-steps", "3", "median", "warmup_steps", 3},
      {"--pruner-interval-steps", "2", "percentile", "interval_steps", 2},
      {"--pruner-min-trials", "4", "percentile", "least_trials", 4},
      {"--pruner-percentile", "12.5", "percentile", "percentile", 12.5},
      {"--pruner-lower", "-3.5", "threshold", "lower", -3.5},
      {"--pruner-upper", "9", "threshold", "upper", 9.0},
      {"--pruner-patience", "6", "patience", "patience", 6},
      {"--pruner-min-delta", "0.25", "patience", "least_change", 0.25},
      {"--pruner-min-resource", "5", "successive-halving", "least_steps", 5},
      {"--pruner-max-resource", "81", "hyperband", "most_steps", 81},
      {"--pruner-reduction-factor", "5", "hyperband", "reduction", 5},
      {"--pruner-early-stopping-rate", "1", "successive-halving", "early_stopping_rate", 1},
  };
  std::set<std::string> seen{"--pruner"};
  int number = 0;
  for (const Case& each : cases) {
    SCOPED_TRACE(each.flag);
    seen.insert(each.flag);
    const std::string file = "s" + std::to_string(number++) + ".journal";
    const CliRun done = tuned("--trials 1 --no-logs --study " + file + " --pruner " + each.pruner + " " +
                              each.flag + "=" + each.value);
    ASSERT_EQ(done.code, 0) << done.err;
    const Json settings = kept_settings(file)["pruner"];
    EXPECT_EQ(settings["name"], each.pruner);
    EXPECT_EQ(settings[each.key], each.expected);
  }
  Flags flags;
  const std::vector<std::string> words{"tune"};
  commands().find(words)->add_flags(flags);
  for (const FlagSpec& spec : flags.specs()) {
    const std::string name(spec.names[0]);
    EXPECT_TRUE(!name.starts_with("--pruner") || seen.contains(name)) << name;
  }
}

// Flags that are settings are other settings in the study; the rest is in the tests that follow, and above.
TEST_F(TuneCommandTest, EveryFlagActs) {
  write_text("t.txt", "n={{n}}");
  write_text("space.json", R"({"parameters": {"k": {"values": [1, 2], "flag": "+"}}})");
  const std::vector<std::pair<std::string, std::string>> settings{
      {"--param", "flag.x=1,2"},
      {"--space", "space.json"},
      {"--preset", "openmp"},
      {"--constraint", "n<5"},
      {"--constant", "k=3"},
      {"--default", "n=5"},
      {"--env", "A=b"},
      {"--template", "t.txt"},
      {"--metric", "other=pattern:([0-9]+)"},
      {"--minimize", "runtime"},
      {"--maximize", "runtime"},
      {"--metric-of", "mean"},
      {"--metric-warmup", "1"},
      {"--repeat", "2"},
      {"--sampler", "random"},
      {"--seed", "3"},
      {"--timeout", "9s"},
      {"--grace", "9s"},
      {"--gpu-memory-limit", "0.5"},
      {"--gpu-utilization-floor", "5"},
      {"--gpu-temperature-limit", "95"},
      {"--trials", "2"},
      {"--model", "gpt2"},
      {"--gpus", "4"},
      {"--global-batch-size", "16"},
      {"--seq-length", "32"},
      {"--dtype", "bf16"},
  };
  ASSERT_EQ(tuned("--trials 1 --study base.journal").code, 0);
  const Json base = kept_settings("base.journal");
  std::set<std::string> seen{"--study",   "--name",         "--cluster", "--plan", "--time-limit",
                             "--workers", "--max-failures", "--no-logs", "--json", "--dry-run"};
  for (const auto& [flag, value] : settings) {
    SCOPED_TRACE(flag);
    seen.insert(flag);
    fs::remove("with.journal");
    const CliRun done = tuned("--trials 1 --study with.journal --no-logs " + flag + " " + value);
    ASSERT_TRUE(fs::exists("with.journal")) << done.err;
    EXPECT_NE(kept_settings("with.journal"), base);
  }
  Flags flags;
  const std::vector<std::string> words{"tune"};
  commands().find(words)->add_flags(flags);
  for (const FlagSpec& spec : flags.specs()) {
    const std::string name(spec.names[0]);
    EXPECT_TRUE(name.starts_with("--pruner") || seen.contains(name)) << name;
  }
}

TEST_F(TuneCommandTest, NamesLogsAndOutput) {
  const CliRun shown = tuned("--dry-run --study s.journal");
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, HasSubstr("n: 1 to 9"));
  EXPECT_FALSE(fs::exists("s.journal"));
  ASSERT_EQ(tuned("--trials 1 --study s.journal --name one").code, 0);
  EXPECT_TRUE(fs::exists("s.one.trials/00000.log")) << "another study of the file has logs of its own";
  const CliRun second = tuned("--trials 1 --study s.journal --name two --json");
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(Json::parse(second.out)["study"], "two");
  EXPECT_EQ(run("tune show s.journal").code, 2) << "which of the two?";
  EXPECT_THAT(run("tune show s.journal --name two").out, HasSubstr("Study 'two'"));
  EXPECT_TRUE(fs::exists("s.two.trials/00000.log"));
  ASSERT_EQ(tuned("--trials 1 --study u.journal").code, 0);
  EXPECT_TRUE(fs::exists("u.trials/00000.log"));
  ASSERT_EQ(tuned("--trials 1 --study t.journal --no-logs").code, 0);
  EXPECT_FALSE(fs::exists("t.trials"));
}

TEST_F(TuneCommandTest, LimitsEndAStudy) {
  const CliRun failing = run_words({"tune", "--param", "n=1..9", "--max-failures", "2", "--study",
                                    "f.journal", "--", "sh", "-c", "exit {{n}}"});
  EXPECT_EQ(failing.code, 5) << failing.err;
  EXPECT_THAT(failing.err, HasSubstr("every trial fails"));
  EXPECT_EQ(study("f.journal")["trials"].size(), 2u);
  const CliRun late = run_words({"tune", "--param", "n=1..9", "--time-limit", "50ms", "--study", "l.journal",
                                 "--", "sh", "-c", "sleep 0.2; exit $((0 * {{n}}))"});
  EXPECT_EQ(late.code, 0) << late.err;
  EXPECT_THAT(late.err, HasSubstr("the time limit was reached"));
  EXPECT_EQ(study("l.journal")["trials"].size(), 1u);
}

TEST_F(TuneCommandTest, WorkersRunTrialsAtATime) {
  // Each trial waits until it sees the other, for ten seconds at most.
  const CliRun done = run_words({"tune", "--param", "n=1,2", "--metric", "^([0-9])$", "--minimize",
                                 "--trials", "2", "--workers", "2", "--study", "w.journal", "--", "sh", "-c",
                                 "touch at.{{n}}; for i in $(seq 200); do [ -e at.1 ] && [ -e at.2 ] && echo "
                                 "1 && exit 0; sleep 0.05; done; echo 9"});
  ASSERT_EQ(done.code, 0) << done.err;
  for (const Json& trial : study("w.journal")["trials"]) EXPECT_EQ(trial["values"]["metric"], 1.0);
}

TEST_F(TuneCommandTest, AMetricThatTellsNothingApartIsNoted) {
  const CliRun same = run(tune("--trials 3 --default n=5 --study e.journal", "expr {{n}} - {{n}} + 7"));
  ASSERT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.err, HasSubstr("note: metric is the same in all complete trials"));
  EXPECT_THAT(same.out, HasSubstr("baseline: metric 7 with n=5 (trial 0); no trial is better\n"));
  EXPECT_THAT(tuned("--trials 3 --study d.journal").err, Not(HasSubstr("the same in all")));
}

TEST_F(TuneCommandTest, ABaselineThatFailsIsNamed) {
  const CliRun done = run_words({"tune", "--param", "n=0,1,2", "--default", "n=0", "--trials", "3", "--study",
                                 "b.journal", "--", "sh", "-c", "[ {{n}} -gt 0 ]"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("\nbaseline: no value with n=0 (trial 0): exit code 1\n"));
}

TEST_F(TuneCommandTest, ResumingHasTheStudysTrialsAndTheSameLimit) {
  ASSERT_EQ(tuned("--trials 2 --study r.journal").code, 0);
  EXPECT_THAT(run("tune resume r.journal").out, HasSubstr("2 trials"));
  EXPECT_THAT(run("tune resume --help-all").out, Not(HasSubstr("50")));
  EXPECT_THAT(run("tune resume r.journal --trials 1000001").err, HasSubstr("the limit is 1000000"));
}

class TunePlanTest : public testing::Test {
 protected:
  // Four layers and four heads on a node of four GPUs.
  TunePlanTest() {
    write_text("four.json", R"({"model_type": "gpt2", "vocab_size": 512, "n_positions": 64, "n_embd": 64,
                                "n_layer": 4, "n_head": 4})");
    write_text("node.json", R"({
      "name": "node", "nodes": [{"name": "n", "count": 1, "device": "a100-40gb", "devices": 4,
      "inside": {"kind": "nvlink", "bandwidth": "300 GB/s", "latency": "2 us"}}]})");
  }
  static void write_plan(const std::string& step, const std::string& plan) {
    write_text("plan.json",
               R"({"nadi_plan": 1, "model": "./four.json", "cluster": "./node.json", "step": {)" + step +
                   R"(}, "plan": {)" + plan + "}}");
  }
  static CliRun dry(const std::string& flags) {
    return run("tune --preset megatron --param context=1 " + flags + " --dry-run -- train");
  }

  WorkingFolder folder_;
};

constexpr const char* kStepOf8 =
    R"("seq_length": 64, "global_batch_size": 8, "micro_batch_size": 2, "dtype": "fp16")";

TEST_F(TunePlanTest, ThePlanOfTheFileIsTriedFirst) {
  // No planner would take it: two stages for a model of a megabyte.
  write_plan(kStepOf8, R"("tp": 2, "pp": 2, "dp": 1)");
  const CliRun shown = dry("--plan plan.json");
  ASSERT_EQ(shown.code, 0) << shown.err;
  const std::size_t first = shown.out.find("plan: train ");
  ASSERT_NE(first, std::string::npos) << shown.out;
  const std::string line = shown.out.substr(first, shown.out.find('\n', first) - first);
  EXPECT_EQ(
      line,
      "plan: train --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --context-parallel-size 1 "
      "--micro-batch-size 2");
  // The planner's own best comes second.
  const CliRun planned =
      dry("--model four.json --cluster node.json --global-batch-size 8 --seq-length 64 --dtype fp16");
  ASSERT_EQ(planned.code, 0) << planned.err;
  const std::size_t best = planned.out.find("plan: train ");
  const std::string best_line = planned.out.substr(best, planned.out.find('\n', best) - best);
  EXPECT_NE(best_line, line);
  EXPECT_THAT(shown.out.substr(first + line.size()), testing::StartsWith("\n" + best_line + "\n"));
}

TEST_F(TunePlanTest, EveryTypeOfAFileIsUnderstood) {
  for (const char* type : {"fp32", "bf16", "fp16"}) {
    write_plan(std::string(R"("seq_length": 64, "global_batch_size": 8, "micro_batch_size": 1, "dtype": ")") +
                   type + "\"",
               R"("dp": 4)");
    const CliRun shown = dry("--plan plan.json");
    EXPECT_EQ(shown.code, 0) << type << ": " << shown.err;
  }
  write_plan(
      R"("seq_length": 64, "global_batch_size": 8, "micro_batch_size": 2, "dtype": "bf16", "attention": "unfused",
                "recompute": {"granularity": "full", "layers": 2})",
      R"("dp": 2, "tp": 2, "sequence_parallel": true, "zero": 1)");
  const CliRun shown = dry("--plan plan.json");
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out,
              HasSubstr("plan: train --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 "
                        "--context-parallel-size 1 --micro-batch-size 2 --sequence-parallel "
                        "--use-distributed-optimizer --recompute-granularity full --recompute-method uniform "
                        "--recompute-num-layers 2\n"));
}

TEST_F(TunePlanTest, APlanThatTheSpaceDoesNotHaveIsRefused) {
  const auto message = [](const std::string& flags) {
    const CliRun refused = dry(flags);
    EXPECT_EQ(refused.code, 2) << refused.out;
    return refused.err;
  };
  write_plan(kStepOf8, R"("dp": 4)");
  EXPECT_THAT(message("--plan plan.json --gpus 2"), HasSubstr("2 GPUs, and the plan of plan.json is for 4"));
  EXPECT_THAT(message("--plan plan.json --model gpt2"), HasSubstr("contradict"));
  EXPECT_THAT(message("--plan plan.json --param micro_batch=1,4"), HasSubstr("micro_batch does not take 2"));
  write_plan(kStepOf8, R"("pp": 4, "schedule": "gpipe")");
  EXPECT_THAT(message("--plan plan.json"), HasSubstr("the schedule gpipe"));
  write_plan(kStepOf8, R"("pp": 3)");
  EXPECT_THAT(message("--plan plan.json --param pipeline=1,3"),
              HasSubstr("layers must divide over the stages"));
}

TEST_F(TunePlanTest, WhatTheSpaceCannotSayIsNoted) {
  // A space that has no part for the layers of a stage.
  write_text("space.json", R"({
    "parameters": {"stages": {"values": [1, 2], "flag": "--pp"}, "micro": {"values": [1, 2], "flag": "--micro"}},
    "plan": {"pp": "stages", "micro_batch_size": "micro"}})");
  write_plan(kStepOf8, R"("pp": 2, "partition": [1, 3])");
  const CliRun shown = run("tune --space space.json --plan plan.json --dry-run -- train");
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.err, HasSubstr("note: plan.json spreads layers as 1-3; the trials spread them as 2-2"));
  EXPECT_THAT(shown.out, HasSubstr("plan: train --pp 2 --micro 2\n"));
}

TEST_F(TunePlanTest, UnevenLayersOfAPlanAreAChoice) {
  write_plan(kStepOf8, R"("pp": 2, "partition": [1, 3])");
  const CliRun shown = dry("--plan plan.json");
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.err, "warning: no trial could start: cannot run 'train': there is no such program\n");
  EXPECT_THAT(shown.out, HasSubstr("\npartition: even, 1-3\n"));
  EXPECT_THAT(shown.out,
              HasSubstr("plan: train --tensor-model-parallel-size 1 --pipeline-model-parallel-size 2 "
                        "--decoder-first-pipeline-num-layers 1 --context-parallel-size 1 "
                        "--micro-batch-size 2"));  // the last of two stages has the rest
  // Four layers do not divide over three stages, but 1-2-1 are three.
  write_plan(kStepOf8, R"("pp": 3, "partition": [1, 2, 1])");
  const CliRun three = dry("--plan plan.json --param pipeline=1,3");
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_THAT(three.out, HasSubstr("--pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 1 "
                                   "--decoder-last-pipeline-num-layers 1"));
  // A first stage without layers needs a layout.
  write_plan(kStepOf8, R"("pp": 2, "partition": [0, 4])");
  const CliRun empty = dry("--plan plan.json");
  ASSERT_EQ(empty.code, 0) << empty.err;
  EXPECT_THAT(empty.out, HasSubstr("--pipeline-model-parallel-layout 'E|t*4L'"));
  EXPECT_THAT(empty.err, HasSubstr("note: the layers 0-4 of plan.json are given by"));
  // So do virtual stages with layers of their own; the layout says how many there are.
  write_plan(kStepOf8,
             R"("pp": 2, "virtual_stages": 2, "schedule": "interleaved", "partition": [2, 1, 1, 0])");
  const CliRun chunks = dry("--plan plan.json");
  ASSERT_EQ(chunks.code, 0) << chunks.err;
  const std::size_t first = chunks.out.find("plan: train");
  const std::string line = chunks.out.substr(first, chunks.out.find('\n', first) - first);
  EXPECT_THAT(line, HasSubstr("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "));
  EXPECT_THAT(line, Not(HasSubstr("--num-virtual-stages")));
}

TEST_F(TunePlanTest, AStudyKeepsThePartition) {
  write_plan(kStepOf8, R"("pp": 2, "partition": [1, 3])");
  const CliRun done =
      run("tune --preset megatron --param context=1 --plan plan.json --trials 1 --study p.journal -- true");
  ASSERT_EQ(done.code, 0) << done.err;
  const CliRun again = run("tune resume p.journal --trials 3");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(run("tune best p.journal --trial 0 --emit flags").out,
              HasSubstr("--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 1 "));
}

}  // namespace
}  // namespace nadi::inline show
