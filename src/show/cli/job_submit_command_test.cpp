#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/format.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/process/find_program.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A script as one line: where its lines end depends on the length of the program's path.
std::string in_one_line(const std::string& script) {
  std::string line;
  for (const char c : script) {
    const bool space = c == ' ' || c == '\n';
    if (!space || line.empty() || line.back() != ' ') line += space ? ' ' : c;
  }
  return line;
}

TEST(JobCommands, AStartCanBeSubmitted) {
  const WorkingFolder folder;
  EXPECT_EQ(run("job init --scheduler local -o job.json").code, 0);
  EXPECT_EQ(run("job init --scheduler local -o job.json").code, 2);  // it is there
  EXPECT_EQ(run("job init --scheduler local -o job.json --force").code, 0);
  const CliRun shown = run("job submit job.json --dry-run --set ranks_per_node=2");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("#!/bin/bash\n"));
  EXPECT_THAT(in_one_line(shown.out), HasSubstr("launch -n 2 --no-prefix train gpt2-tiny"));
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
  const std::string id = Json::parse(done.out)["id"];
  EXPECT_THAT(done.err, HasSubstr("job " + id + " failed with exit code 1: rank 1 ended with exit code 1\n"));
  EXPECT_THAT(done.err, HasSubstr("'nadi job logs " + id + " --err' prints them\n"));
  EXPECT_EQ(run("job submit job.json --wait --set ranks_per_node=1").code, 0);
}

TEST(JobCommands, AFailureUnderWaitHasItsCause) {
  if (!find_program("bash")) GTEST_SKIP() << "no bash on PATH";
  const WorkingFolder folder;
  write_text("job.json", R"({"nadi_job": 1, "scheduler": "local", "sample_every": "0 s",
                             "run": {"command": ["bash", "-c", "echo fine; echo error: no such dataset: squad >&2; exit 3"]}})");
  const CliRun done = run("job submit job.json --wait");
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.err, HasSubstr(".err:2: error: no such dataset: squad\n"));
  EXPECT_THAT(done.err, HasSubstr("  logs: "));
}

// The second submission of a run that is done has nothing to do; --set says what else it should do.
TEST(JobCommands, NothingIsLeftToTrainAfterTheLastStep) {
  if (!find_program("bash")) GTEST_SKIP() << "no bash on PATH";
  const WorkingFolder folder;
  ASSERT_EQ(
      run("train gpt2-tiny --batch-size 1 --max-seq-length 8 --max-steps 2 --skip-eval --save-dir out").code,
      0);
  write_text("job.json",
             R"({"nadi_job": 1, "scheduler": "local", "run": {"train": ["gpt2-tiny", "--batch-size", "1",
    "--max-seq-length", "8", "--max-steps", "2", "--skip-eval", "--save-dir", "out", "--resume-if-any"]}})");
  const CliRun again = run("job submit job.json --wait");
  EXPECT_EQ(again.code, 5);
  EXPECT_THAT(again.err, HasSubstr("nothing is left to train: the run in out has done 2 of 2 steps"));
  EXPECT_THAT(again.err,
              HasSubstr("--set run.train.max-steps=4 goes on; --set run.train.save-dir=OTHER starts anew"));
  const CliRun longer = run("job submit job.json --dry-run --set run.train.max-steps=4");
  EXPECT_EQ(longer.code, 0) << longer.err;
  EXPECT_THAT(in_one_line(longer.out), HasSubstr("--max-steps 4 "));
  EXPECT_EQ(run("job submit job.json --dry-run --set run.train.save-dir=other").code, 0);
  // A job that does not say to resume would be refused by its training, once it runs.
  const std::string plain =
      "job submit job.json --dry-run --set "
      "run.train=[\"gpt2-tiny\",\"--save-dir\",\"out\",\"--max-steps\",\"2\"";
  const CliRun refused = run(plain + "]");
  EXPECT_EQ(refused.code, 5);
  EXPECT_THAT(refused.err,
              HasSubstr("--set run.train.max-steps=4, and --resume among the words of run.train, goes on; "
                        "--set run.train.save-dir=OTHER starts anew"));
  EXPECT_EQ(run(plain + ",\"--force\"]").code, 0);
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
      {"job submit job.json --script x", 2, "--script x needs --from"}};
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

// One node with two fast devices and two with a slow one each; four stages in this order.
void write_plan_over_two_kinds() {
  write_text("two.json", R"({
    "name": "two",
    "nodes": [
      {"name": "big", "count": 1, "device": "a100-40gb", "devices": 2,
       "inside": {"kind": "nvlink", "topology": "switch", "bandwidth": "1840 Gbit/s", "latency": "2 us"}},
      {"name": "small", "count": 2, "device": "a10", "devices": 1}],
    "levels": [{"name": "nodes", "fabric": {"kind": "ethernet", "topology": "switch", "bandwidth": "40 Gbit/s",
                                            "latency": "30 us"}}]})");
  const CliRun planned = run(
      "plan gpt2-medium --cluster two.json --global-batch-size 8 --tp 1 --pp 4 --dp 1 --micro-batch-size 1 "
      "--schedule 1f1b --emit plan.json");
  ASSERT_EQ(planned.code, 0) << planned.err;
}

constexpr const char* kKindsOfNodes =
    R"("groups": [{"kind": "small", "partition": "a10"}, {"kind": "big", "partition": "a100", "cpus_per_rank": 8}])";

TEST(JobCommands, APlanOverTwoKindsOfNodesIsOneHeterogeneousJob) {
  const WorkingFolder folder;
  ASSERT_NO_FATAL_FAILURE(write_plan_over_two_kinds());
  write_text("job.json", R"({"nadi_job": 1, "run": {"train": ["--max-steps", "2"]}})");
  const CliRun unknown = run("job submit job.json --plan plan.json --dry-run");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("the job does not say what these are"));

  write_text("job.json",
             format(R"({{"nadi_job": 1, "run": {{"train": ["--max-steps", "2"]}}, {}}})", kKindsOfNodes));
  const CliRun shown = run("job submit job.json --plan plan.json --dry-run");
  ASSERT_EQ(shown.code, 0) << shown.err;
  // In the order of the ranks, whatever that of the job file: big, then small.
  const std::size_t big = shown.out.find(
                        "#SBATCH --nodes=1 --ntasks-per-node=2 --cpus-per-task=8\n#SBATCH --gres=gpu:2\n"
                        "#SBATCH --partition=a100\n#SBATCH hetjob\n"),
                    small = shown.out.find(
                        "#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=1\n#SBATCH --gres=gpu:1\n"
                        "#SBATCH --partition=a10\n");
  EXPECT_NE(big, std::string::npos) << shown.out;
  EXPECT_NE(small, std::string::npos) << shown.out;
  EXPECT_LT(big, small);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("NNODES=3 WORLD_SIZE=4\n"),
                               HasSubstr("--het-group=0 --nodes=1 --ntasks=2 --ntasks-per-node=2 "),
                               HasSubstr("--het-group=1 --nodes=2 --ntasks=2 --ntasks-per-node=1 "),
                               HasSubstr("--plan " + (fs::current_path() / "plan.json").string())));
  // The same in a form for programs.
  const Json root = run_json("job submit job.json --plan plan.json --dry-run --json");
  EXPECT_EQ(root["nodes"], 3);
  EXPECT_EQ(root["ranks"], 4);
  EXPECT_EQ(root["scripts"].size(), 1);
  EXPECT_EQ(root["job"]["groups"].size(), 2);
  EXPECT_EQ(root["job"]["groups"][0]["kind"], "big");
  // For clusters without heterogeneous jobs: a script for each.
  write_text(
      "command.json",
      format(R"({{"nadi_job": 1, "mixing": "jobs", "run": {{"command": ["true"]}}, {}}})", kKindsOfNodes));
  EXPECT_EQ(run_json("job submit command.json --plan plan.json --dry-run --json")["scripts"].size(), 2);
}

TEST(JobCommands, APlanGivesMegatronItsFlags) {
  const WorkingFolder folder;
  ASSERT_NO_FATAL_FAILURE(write_plan_over_two_kinds());
  write_text("job.json",
             format(R"({{"nadi_job": 1, {}, "run": {{"megatron": ["pretrain_gpt.py", "--lr", "1e-4"]}}}})",
                    kKindsOfNodes));
  const Json root = run_json("job submit job.json --plan plan.json --dry-run --json");
  std::string words;
  for (const Json& word : root["job"]["run"]["megatron"]) words += word.get<std::string>() + " ";
  EXPECT_THAT(words, AllOf(HasSubstr("pretrain_gpt.py --lr 1e-4 --num-layers 24 --hidden-size 1024 "),
                           HasSubstr("--tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 "),
                           HasSubstr("--micro-batch-size 1 --global-batch-size 8 ")));
  const std::string script = root["scripts"][0];
  EXPECT_THAT(script, AllOf(HasSubstr("--pipeline-model-parallel-size 4"),
                            HasSubstr("  export CUDA_DEVICE_MAX_CONNECTIONS=1\n")));
  // Whoever names the variable has it as named.
  for (const char* const set : {"environment.set.CUDA_DEVICE_MAX_CONNECTIONS=8",
                                "environment.pass=[\"CUDA_DEVICE_MAX_CONNECTIONS\"]"})
    EXPECT_THAT(
        run_words({"job", "submit", "job.json", "--plan", "plan.json", "--dry-run", "--set", set}).out,
        Not(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS=1")))
        << set;
  const CliRun other =
      run("job submit job.json --plan plan.json --dry-run --set "
          "run.megatron=[\"pretrain_gpt.py\",\"--pipeline-model-parallel-size\",\"2\"]");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err,
              HasSubstr("--pipeline-model-parallel-size 2 of the job contradicts plan.json, which has "
                        "--pipeline-model-parallel-size 4"));
}

TEST(JobCommands, AModelThatNobodyKnowsIsRefusedBeforeTheClusterIs) {
  const WorkingFolder folder;
  const auto submit = [](const std::string& model, const std::string& more = "") {
    write_text("job.json", format(R"({{"nadi_job": 1, {} "run": {{"train": ["{}"]}}}})", more, model));
    return run("job submit job.json --dry-run");
  };
  const CliRun unknown = submit("gpt2-tny");
  EXPECT_NE(unknown.code, 0);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("run.train: unknown model 'gpt2-tny'"), HasSubstr("'gpt2-tiny'")));
  EXPECT_EQ(submit("gpt2-tiny").code, 0);
  EXPECT_EQ(submit("models/of/the/cluster").code, 0);
  EXPECT_EQ(submit("mine", R"("container": {"kind": "docker", "image": "i"},)").code, 0);
}

TEST(JobCommands, ARestartOfMegatronThatWouldLoseItsStepsIsAWarning) {
  const WorkingFolder folder;
  const auto warnings = [](const std::string& words) {
    write_text("job.json",
               format(R"({{"nadi_job": 1, "time": "1:00:00", "run": {{"megatron": ["pretrain_gpt.py"{}]}},
                                       "requeue": {{"before_end": "60 s", "max_restarts": 2}}}})",
                      words));
    return run("job submit job.json --dry-run").err;
  };
  EXPECT_THAT(warnings(""), AllOf(HasSubstr("has no --exit-signal-handler"), HasSubstr("has no --load")));
  EXPECT_EQ(warnings(R"(, "--exit-signal-handler", "--save", "ck", "--load=ck")"), "");
}

TEST(JobCommands, OldSettingsAreReadAndNamed) {
  const WorkingFolder folder;
  const fs::path old = source_folder() / "examples" / "jobs" / "old";
  const CliRun done = run_words({"job", "submit", "--from", (old / "_00_conf.sh").string(), "--script",
                                 (old / "_02_homo_job.sh").string(), "--dry-run", "--set", "time=30"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("#SBATCH --nodes=8 --ntasks-per-node=4 --cpus-per-task=8\n"),
                              HasSubstr("#SBATCH --time=0:30:00\n"), HasSubstr("0-11-8-8-8-8-5-0")));
  EXPECT_THAT(done.out, HasSubstr("MASTER_PORT=6787\n"));
  EXPECT_THAT(done.err, HasSubstr("note: RELOAD_CONTAINER has no effect"));
}

TEST(JobCommands, MasterAndSlavesAreOneHeterogeneousJob) {
  const WorkingFolder folder;
  const fs::path old = source_folder() / "examples" / "jobs" / "old_mixed";
  const std::string conf = (old / "_00_conf.sh").string(),
                    master = (old / "_02_hetero_master_job.sh").string();
  const CliRun done = run_words({"job", "submit", "--from", conf, "--script", master, "--script",
                                 (old / "_02_hetero_slave_job.sh").string(), "--dry-run"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out,
              AllOf(HasSubstr("#SBATCH --nodes=1 "), HasSubstr("#SBATCH hetjob\n#SBATCH --nodes=7 "),
                    HasSubstr("MASTER_ADDR=192.168.120.60\n"), HasSubstr("--gres=gpu:a100:4")));
  const CliRun alone = run_words({"job", "submit", "--from", conf, "--script", master, "--dry-run"});
  EXPECT_EQ(alone.code, 3);
  EXPECT_THAT(alone.err, HasSubstr("--script _02_hetero_master_job.sh --script _02_hetero_slave_job.sh"));
}

}  // namespace
}  // namespace nadi::inline show
