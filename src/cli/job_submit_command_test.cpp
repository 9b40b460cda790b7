#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/job/find_program.h"
#include "nadi/testing/source_folder.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

TEST(JobCommands, AStartCanBeSubmitted) {
  const WorkingFolder folder;
  EXPECT_EQ(run("job init --scheduler local -o job.json").code, 0);
  EXPECT_EQ(run("job init --scheduler local -o job.json").code, 2);  // it is there
  EXPECT_EQ(run("job init --scheduler local -o job.json --force").code, 0);
  const CliRun shown = run("job submit job.json --dry-run --set ranks_per_node=2");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("#!/bin/bash\n"), HasSubstr("launch -n 2 --no-prefix train gpt2-tiny")));
  EXPECT_FALSE(fs::exists("jobs"));
  const Json root = run_json("job submit job.json --dry-run --json");
  EXPECT_EQ(root["ranks"], 1);
  EXPECT_EQ(root["job"]["nadi_job"], 1);
}

TEST(JobCommands, ALocalJobRunsAndItsExitCodeIsThatOfTheCommand) {
  if (!find_program("bash")) GTEST_SKIP() << "no bash on PATH";
  const WorkingFolder folder;
  write_text("job.json", R"({"nadi_job": 1, "scheduler": "local", "sample_every": "0 s",
                             "run": {"command": ["bash", "-c", "echo $RANK; exit $RANK"]}, "ranks_per_node": 2})");
  const CliRun done = run("job submit job.json --wait --json");
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("job local-1 failed with exit code 1"));
  EXPECT_EQ(Json::parse(done.out)["id"], "local-1");
  EXPECT_EQ(run("job submit job.json --wait --set ranks_per_node=1").code, 0);
}

TEST(JobCommands, MistakesAreSaidBeforeAnythingIsSubmitted) {
  const WorkingFolder folder;
  write_text("job.json", R"({"nadi_job": 1, "run": {"train": ["gpt2", "--max-stepz", "3"]}})");
  const std::tuple<const char*, int, const char*> cases[]{
      {"job submit", 2, "no job"},
      {"job submit missing.json", 3, "missing.json"},
      {"job submit job.json --dry-run", 2, "run.train: unknown flag '--max-stepz'"},
      {"job submit job.json --set run.train=[\"gpt2\"] --set node=1 --dry-run", 2, "did you mean 'nodes'?"},
      {"job submit job.json --set run.train=[\"gpt2\"] --trace all --dry-run", 2, "--trace takes steps"},
      {"job submit job.json --set run.train=[\"gpt2\"] --wait", 2, "--wait is for local jobs"},
      {"job submit job.json --script x", 2, "--script makes no sense without --from"}};
  for (const auto& [words, code, text] : cases) {
    const CliRun done = run(words);
    EXPECT_EQ(done.code, code) << words << "\n" << done.err;
    EXPECT_THAT(done.err, HasSubstr(text)) << words;
  }
}

TEST(JobCommands, AllExamplesAreJobs) {
  const WorkingFolder folder;
  for (const auto& entry : fs::directory_iterator(source_folder() / "examples" / "jobs"))
    if (entry.path().extension() == ".json") {
      const CliRun done = run_words({"job", "submit", entry.path().string(), "--dry-run"});
      EXPECT_EQ(done.code, 0) << entry.path() << done.err;
    }
}

TEST(JobCommands, APlanOverTwoKindsOfNodesIsOneHeterogeneousJob) {
  const WorkingFolder folder;
  ASSERT_EQ(
      run("plan gpt2-xl --cluster a100x1-a10x7 --global-batch-size 64 --tp 1 --pp 8 --dp 4 --schedule 1f1b "
          "--emit plan.json")
          .code,
      0);
  write_text("job.json", R"({"nadi_job": 1, "run": {"train": ["--max-steps", "2"]}})");
  const CliRun unknown = run("job submit job.json --plan plan.json --dry-run");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("the job does not say what these are"));
}

TEST(JobCommands, OldSettingsAreReadAndNamed) {
  const WorkingFolder folder;
  const fs::path old = source_folder() / "examples" / "jobs" / "old";
  const CliRun done = run_words({"job", "submit", "--from", (old / "_00_conf.sh").string(), "--script",
                                 (old / "_02_homo_job.sh").string(), "--dry-run", "--set", "time=30"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("#SBATCH --nodes=8 --ntasks-per-node=4 --cpus-per-task=8\n"),
                              HasSubstr("#SBATCH --time=0:30:00\n"), HasSubstr("0-11-8-8-8-8-5-0")));
  EXPECT_THAT(done.err, HasSubstr("note: MASTER_PORT is not taken over"));
}

}  // namespace
}  // namespace nadi
