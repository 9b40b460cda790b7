#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/testing/job_logs.h"
#include "nadi/testing/temporary_variable.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(JobWatch, AFolderOfOldScripts) {
  const WorkingFolder folder;
  write_job_logs("log2", {.nodes = 2, .iterations = 100, .all_iterations = 100});
  const CliRun done = run("job watch log2/10932251 --once");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("log2/10932251\ndone, iteration 100 of 100, "));
  EXPECT_THAT(done.out, HasSubstr("healthy"));
  EXPECT_THAT(done.out, HasSubstr("n060"));
  const Json json = run_json("job watch log2/10932251 --once --json");
  EXPECT_EQ(json.at("state"), "done");
  EXPECT_EQ(json.at("healthy"), true);
  EXPECT_EQ(json.at("iteration"), 100);
  EXPECT_EQ(json.at("nodes").size(), 2U);
  EXPECT_EQ(json.at("nodes")[0].at("devices").size(), 4U);
  // In a pipe it ends with the job.
  const CliRun lines = run("job watch log2/10932251 --interval 0.1");
  EXPECT_EQ(lines.code, 0);
  EXPECT_THAT(lines.out, StartsWith("done, iteration 100 of 100, "));
}

// What get_result.sh of the modified Megatron-LM printed, on one page.
TEST(JobWatch, AllOfAJobOnOnePage) {
  const WorkingFolder folder;
  write_job_logs("log2", {.nodes = 2, .iterations = 100, .all_iterations = 100});
  write_text("_00_conf.sh", "NNODES=2\nNPROC_PER_NODE=4\nWORLD_SIZE=$((NPROC_PER_NODE * NNODES))\n");
  const CliRun done = run("job watch log2/10932251 --all --from _00_conf.sh");
  EXPECT_EQ(done.code, 0) << done.err;
  for (const char* text :
       {"******************* last output message *******************\n==> log2/10932251/n060.out <==\n",
        " last error message ", "==> log2/10932251/n061.err <==\n", " last gpu message ", "[3] NVIDIA A10",
        " lines..\n", "job info log2/10932251",
        "items: n060.err n060.gpu n060.out n061.err n061.gpu n061.out\n", "\nNNODES: 2\n",
        "\nWORLD_SIZE: 8\n", " iteration time ", "\niteration 100 : 1.", "rule 1 scheduler  unknown",
        "rule 2 gpus ", "rule 3 errors     good",
        "rule 4 settings   good     2 of 3 settings asked for are in effect; nobody prints NPROC_PER_NODE"})
    EXPECT_THAT(done.out, HasSubstr(text)) << done.out;
  EXPECT_EQ(run("job watch log2/10932251 --all --json").code, 2);
  // A value that differs is shown where it is printed, and is the fourth rule.
  write_text("other.sh", "NNODES=3\n");
  const CliRun ill = run("job watch log2/10932251 --all --from other.sh");
  EXPECT_EQ(ill.code, 1);
  EXPECT_THAT(ill.out, HasSubstr("NNODES: 2    <-- 3 was asked for in other.sh:1\n"));
  EXPECT_THAT(ill.out, HasSubstr("rule 4 settings   bad "));
  const CliRun gpus = run("job logs log2/10932251 --gpu --node n061 --lines 1");
  EXPECT_EQ(gpus.code, 0) << gpus.err;
  EXPECT_THAT(gpus.out, HasSubstr("NVIDIA A10"));
  EXPECT_EQ(run("job logs log2/10932251 --gpu --err").code, 2);
}

TEST(JobWatch, WhatIsWrongIsTold) {
  const WorkingFolder folder;
  write_job_logs("log2", {.nodes = 4,
                          .nodes_of_second_job = 2,
                          .iterations = 50,
                          .all_iterations = 100,
                          .nan_from = 30,
                          .failing_node = 1,
                          .other_settings_node = 3});
  const CliRun ill = run("job watch log2/10932251 log2/10932252 --once");
  EXPECT_EQ(ill.code, 1);
  EXPECT_EQ(ill.err, "");
  EXPECT_THAT(ill.out, HasSubstr("problem: out of memory on n061: "));
  EXPECT_THAT(ill.out, HasSubstr("problem: GLOBAL_BATCH_SIZE: n060, n061 and n062 have"));
  EXPECT_THAT(ill.out, HasSubstr("problem: the loss is not a number since iteration 30 or before"));
  EXPECT_THAT(ill.out, HasSubstr("n063.out:"));
  const CliRun json = run("job watch log2/10932251 log2/10932252 --once --json");
  EXPECT_EQ(json.code, 1);
  EXPECT_THAT(json.out, HasSubstr("\"rule\": \"settings\""));
}

// A folder as 'job submit' makes it, with a run that reached iteration 50 of 100.
void write_submitted(const std::string& scheduler) {
  write_job_logs("jobs", {.nodes = 1, .iterations = 50, .all_iterations = 100});
  write_text("jobs/10932251/submitted.json",
             R"({"nadi_submitted": 1, "scheduler": ")" + scheduler +
                 R"(", "id": "10932251", "component_ids": [], "time": "2026-11-16T23:51:29Z"})");
}

TEST(JobWatch, ACancelledJobHasNoTimeLeft) {
  const WorkingFolder folder;
  write_submitted("local");
  write_text("jobs/10932251/local_state.txt", "start 0 1794873089\nend 143 cancelled 1794873091\n");
  const CliRun seen = run("job watch 10932251 --once");
  EXPECT_EQ(seen.code, 1);
  EXPECT_THAT(seen.out, HasSubstr("\ncancelled, iteration 50 of 100, "));
  EXPECT_THAT(seen.out, Not(HasSubstr(" left")));
}

TEST(JobWatch, FarFromTheClusterTheFolderIsReadAndTheReasonSaid) {
  const WorkingFolder folder;
  write_submitted("slurm");
  const TemporaryVariable path("PATH", "/nowhere");
  EXPECT_THAT(run("job watch jobs/10932251 --once").out,
              HasSubstr("\nscheduler: there is no squeue on PATH"));
  const CliRun json = run("job watch jobs/10932251 --once --json");
  EXPECT_THAT(Json::parse(json.out).at("scheduler_problem").get<std::string>(),
              HasSubstr("there is no squeue on PATH"));
  EXPECT_TRUE(Json::parse(json.out).at("scheduler_state").is_null());
  const CliRun unknown = run("job watch 4711 --once");
  EXPECT_EQ(unknown.code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("there is no squeue on PATH"));
}

// submitted.json is in the folder of the sweep; logs and states are in those of its runs.
TEST(JobWatch, ARunOfASweepIsAskedAboutByItsOwnId) {
  const WorkingFolder folder;
  write_text("jobs/5/submitted.json",
             R"({"nadi_submitted": 1, "scheduler": "local", "id": "5", "component_ids": [],
                 "time": "2026-11-16T23:51:29Z"})");
  write_text("jobs/5/job.json",
             R"({"nadi_job": 1, "scheduler": "local", "name": "two", "run": {"command": ["x"]}})");
  for (const char* const run : {"5_0", "5_10", "5_2"}) {
    write_text(std::string("jobs/") + run + "/n1.out", "said\n");
    write_text(std::string("jobs/") + run + "/local_state.txt",
               "start 0 1794873089\nend 143 cancelled 1794873091\n");
  }
  EXPECT_THAT(run("job watch 5_2 --once").out, testing::StartsWith("job 5_2 (two)\ncancelled, "));
  EXPECT_THAT(run("job status jobs/5_2/").out, HasSubstr("cancelled"));
  EXPECT_EQ(run("job resume 5_2").code, 2);
  for (const char* const command : {"job logs 5", "job report 5"}) {
    const CliRun whole = run(command);
    EXPECT_EQ(whole.code, 2);
    EXPECT_THAT(whole.err, testing::AllOf(HasSubstr("job 5 is a sweep"), HasSubstr("runs: 5_0, 5_2, 5_10")));
  }
}

TEST(JobWatch, WhatIsNoJob) {
  const WorkingFolder folder;
  EXPECT_EQ(run("job watch nowhere --once").code, 2);
  EXPECT_THAT(run("job watch nowhere --once").err, HasSubstr("neither a folder nor the id of a job"));
  std::filesystem::create_directory("empty");
  EXPECT_EQ(run("job watch ./empty --once").code, 3);
  EXPECT_EQ(run("job watch ./empty --interval 0").code, 2);
}

TEST(JobLogs, OfNodes) {
  const WorkingFolder folder;
  write_text("log2/7/n2.out", "one\ntwo\nthree\n");
  write_text("log2/7/n10.out", "ten\neleven");
  write_text("log2/7/n2.err", "RuntimeError: x\n");
  const CliRun all = run("job logs log2/7");
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, "==> n2.out <==\none\ntwo\nthree\n\n==> n10.out <==\nten\neleven");
  EXPECT_EQ(run("job logs 7 --outputs log2 --node n2 --lines 2").out, "two\nthree\n");
  EXPECT_EQ(run("job logs log2/7 --node n10 --lines 1").out, "eleven");
  EXPECT_EQ(run("job logs log2/7 --err").out, "==> n2.err <==\nRuntimeError: x\n");
  const CliRun unknown = run("job logs log2/7 --node n3");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("n2"));
}

}  // namespace
}  // namespace nadi::inline show
