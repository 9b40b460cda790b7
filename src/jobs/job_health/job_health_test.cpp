// Each rule is provoked once, and once met by what only looks like it.
#include "nadi/job_health/job_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nadi/base/temporary_folder.h"
#include "nadi/job_health/four_rules.h"
#include "nadi/job_health/health_rules.h"
#include "nadi/job_health/job_health_for_tests.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// ---- not running by the scheduler's account ----

TEST_F(JobHealth, FailedJobsAreProblems) {
  write("n.out", log_line(10, 1000));
  status_ = JobStatus{
      .id = "12", .state = JobState::kFailed, .said = "FAILED", .reason = "NonZeroExitCode", .exit_code = 3};
  const auto findings = found(HealthRule::kNotRunning);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kProblem);
  EXPECT_EQ(findings[0].text, "job 12 failed with exit code 3");
  EXPECT_EQ(findings[0].evidence[0].text, "FAILED, reason NonZeroExitCode");
  for (const JobState state : {JobState::kCancelled, JobState::kTimedOut, JobState::kOutOfMemory,
                               JobState::kNodeFailed, JobState::kPreempted}) {
    status_->state = state;
    EXPECT_THAT(found(HealthRule::kNotRunning), SizeIs(1));
  }
}

TEST_F(JobHealth, WaitingRunningAndDoneJobsAreNone) {
  write("n.out", log_line(10, 1000));
  status_ = JobStatus{.id = "12", .state = JobState::kPending, .reason = "Resources"};
  const auto waiting = found(HealthRule::kNotRunning);
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_EQ(waiting[0].severity, HealthSeverity::kNote) << "waiting is normal";
  status_->state = JobState::kDone;
  EXPECT_THAT(found(HealthRule::kNotRunning), IsEmpty());
  status_ = running();
  EXPECT_THAT(found(HealthRule::kNotRunning), IsEmpty());
  status_.reset();
  EXPECT_THAT(found(HealthRule::kNotRunning), IsEmpty()) << "no scheduler";
}

TEST_F(JobHealth, ReasonsThatDoNotGoAway) {
  write("n.out", "");
  status_ = JobStatus{.id = "12", .state = JobState::kPending, .reason = "DependencyNeverSatisfied"};
  EXPECT_EQ(found(HealthRule::kNotRunning).at(0).severity, HealthSeverity::kProblem);
}

TEST_F(JobHealth, NodesThatWroteNothing) {
  write("n1.out", log_line(10, 1000));
  status_ = running();
  status_->nodes = {"n1", "n2"};
  const auto findings = found(HealthRule::kNotRunning);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].nodes, ElementsAre("n2"));
  status_->elapsed = seconds(20);
  EXPECT_THAT(found(HealthRule::kNotRunning), IsEmpty()) << "just started";
}

// ---- nothing on the GPUs ----

TEST_F(JobHealth, NothingOnTheGpus) {
  write("n1.out", log_line(10, 1000), kNow - 400);
  write("n1.gpu", samples(30, 0) + samples(30, 2, "49", 100, "0x1", 1));
  status_ = running();
  const auto findings = found(HealthRule::kIdleGpus);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kProblem);
  EXPECT_EQ(findings[0].text, "the job runs, and nothing happens on its 2 GPUs");
  EXPECT_EQ(findings[0].evidence[0].text, "GPU 0 of n1: at most 5 % for 290 s");
  EXPECT_EQ(findings[0].evidence[0].place, "n1.gpu");
}

TEST_F(JobHealth, NothingOnTheGpusByTheOldForm) {
  write("n1.out", log_line(10, 1000), kNow - 400);
  std::string text;
  for (int i = 0; i < 10; ++i) text += "[0] NVIDIA A10       | 49'C,   0 % |     0 / 22731 MB |\n";
  write("n1.gpu", text);
  status_ = running();
  EXPECT_THAT(found(HealthRule::kIdleGpus), SizeIs(1));
}

TEST_F(JobHealth, SomeGpusIdleIsAWarning) {
  write("n1.out", log_line(10, 1000), kNow - 400);
  write("n1.gpu", samples(30, 90));
  write("n2.gpu", samples(30, 0));
  status_ = running();
  const auto findings = found(HealthRule::kIdleGpus);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kWarning);
  EXPECT_THAT(findings[0].nodes, ElementsAre("n2"));
}

TEST_F(JobHealth, GpusMayBeIdleForAMoment) {
  status_ = running();
  // A checkpoint: idle for 40 s after work.
  write("n1.out", log_line(10, 1000), kNow - 40);
  std::string text;
  for (int i = 30; i >= 0; --i)
    text += "gpu " + std::to_string(kNow - 10 * i) + " 0, NVIDIA A10, 49, " + (i < 5 ? "0" : "95") +
            ", 20000, 22731\n";
  write("n1.gpu", text);
  EXPECT_THAT(found(HealthRule::kIdleGpus), IsEmpty());
  // An evaluation on the CPU: idle for long, and iterations come.
  write("n1.out", log_line(10, 1000), kNow - 5);
  write("n1.gpu", samples(30, 0));
  EXPECT_THAT(found(HealthRule::kIdleGpus), IsEmpty());
  // Loading before the first iteration.
  write("n1.out", "NODE_RANK: 0\n");
  status_ = running(120);
  EXPECT_THAT(found(HealthRule::kIdleGpus), IsEmpty());
  // It has ended.
  status_ = JobStatus{.id = "12", .state = JobState::kDone};
  EXPECT_THAT(found(HealthRule::kIdleGpus), IsEmpty());
  // Utilisation is not known.
  status_ = running();
  write("n1.out", log_line(10, 1000), kNow - 400);
  std::string unknown;
  for (int i = 0; i < 10; ++i) unknown += "[0] NVIDIA A10       | ?\?'C,  ?? % |    ?? / 22731 MB |\n";
  write("n1.gpu", unknown);
  EXPECT_THAT(found(HealthRule::kIdleGpus), IsEmpty());
}

// ---- errors on stderr ----

TEST_F(JobHealth, ErrorsOnStderr) {
  write("n1.out", log_line(10, 1000));
  write("n1.err", "UserWarning: x\nRuntimeError: CUDA error 3\n");
  write("n2.err", "RuntimeError: CUDA error 4\n");
  const auto findings = found(HealthRule::kErrors);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kProblem);
  EXPECT_EQ(findings[0].text, "error on n1 and n2: RuntimeError: CUDA error 3");
  EXPECT_EQ(findings[0].evidence[0].place, "n1.err:2");
  EXPECT_EQ(findings[0].evidence[0].text, "2 times, first: RuntimeError: CUDA error 3");
}

TEST_F(JobHealth, WarningsAreNoErrors) {
  write("n1.err",
        "/opt/x.py:3: UserWarning: error: the file x is old\n"
        "  warnings.warn('RuntimeError: old')\n"
        "W1116 19:43:06.123000 1 torch/run.py:779] Error: OMP_NUM_THREADS\n"
        "TORCH_NCCL_ASYNC_ERROR_HANDLING is deprecated\n"
        "mean error: 0.5, 0 errors\n");
  EXPECT_THAT(found(HealthRule::kErrors), IsEmpty());
}

TEST_F(JobHealth, ErrorsOfAnEarlierStartAreNotes) {
  write("n1.out", "RESTART_COUNT: 0\n" + log_line(10, 1000) + "RESTART_COUNT: 1\n" + log_line(20, 1000));
  write("n1.err", "RESTART_COUNT: 0\nRuntimeError: lost\nRESTART_COUNT: 1\n");
  const auto findings = found(HealthRule::kErrors);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kNote);
  write("n1.err", "RESTART_COUNT: 0\nRESTART_COUNT: 1\nRuntimeError: lost\n");
  EXPECT_EQ(found(HealthRule::kErrors).at(0).severity, HealthSeverity::kProblem);
  write("n1.err", "RuntimeError: lost\n");
  EXPECT_EQ(found(HealthRule::kErrors).at(0).severity, HealthSeverity::kProblem)
      << "nobody knows of which start";
}

TEST_F(JobHealth, WhatSlurmEndedAndStartedAgainIsNoError) {
  write("n1.out", log_line(10, 1000));
  write("n1.err",
        "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-01-31T09:05:00 DUE TO TIME LIMIT ***\n");
  EXPECT_THAT(found(HealthRule::kErrors), SizeIs(1)) << "a folder alone: this is how it ended";
  status_ = running();
  EXPECT_THAT(found(HealthRule::kErrors), IsEmpty()) << "it was queued again and runs";
}

// ---- settings ----

TEST_F(JobHealth, SettingsThatDiffer) {
  write("n1.out", "GLOBAL_BATCH_SIZE: 16\nMICRO_BATCH_SIZE: 2\n  micro_batch_size ........ 4\n");
  write("n2.out", "GLOBAL_BATCH_SIZE: 32\n");
  asked_ = {{"GLOBAL_BATCH_SIZE", "16", "_00_conf.sh:4"}};
  const auto findings = found(HealthRule::kSettings);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].text, "GLOBAL_BATCH_SIZE: asked for 16, n2 has 32");
  EXPECT_EQ(findings[0].severity, HealthSeverity::kProblem);
  EXPECT_EQ(findings[0].evidence[0].place, "_00_conf.sh:4");
  EXPECT_EQ(findings[0].evidence[1].place, "n2.out:1");
  EXPECT_EQ(findings[1].text, "MICRO_BATCH_SIZE: n1 has 2, n1 has 4") << "the script and its program";
  EXPECT_EQ(findings[1].evidence[1].place, "n1.out:3");
}

TEST_F(JobHealth, SettingsThatOnlyLookDifferent) {
  write("n1.out",
        "NODE_RANK: 0\nGLOBAL_BATCH_SIZE: 16\nMODEL: \"gpt2\"\n  lr ........ 0.0001\n  fp16 ...... "
        "True\nPID: 4\n");
  write("n2.out", "NODE_RANK: 1\nGLOBAL_BATCH_SIZE: 16\nMODEL: gpt2\nPID: 5\n");
  asked_ = {{"GLOBAL_BATCH_SIZE", "16"}, {"lr", "1e-4"}, {"fp16", "true"}, {"not_printed", "1"}};
  EXPECT_THAT(found(HealthRule::kSettings), IsEmpty());
}

TEST_F(JobHealth, WhatAJobFileAsksFor) {
  JobFile job;
  job.groups = {JobNodes{.nodes = 2, .ranks_per_node = 4}};
  job.run = {.kind = JobRunKind::kMegatron,
             .words = {"pretrain_gpt.py", "--micro-batch-size", "4", "--fp16", "--lr=1e-4", "--data-path",
                       "a", "b", "--rank", "${RANK}"}};
  std::vector<std::string> names;
  for (const AskedSetting& setting : asked_settings(job)) names.push_back(setting.name + "=" + setting.value);
  EXPECT_THAT(names, ElementsAre("NNODES=2", "WORLD_SIZE=8", "micro_batch_size=4", "fp16=True", "lr=1e-4"));
}

// ---- progress ----

TEST_F(JobHealth, NoProgress) {
  // A line every ten iterations of 1 s: ten times that is 100 s, at least 120 s.
  write("n1.out", log_line(10, 4000) + log_line(20, 1000) + log_line(30, 1000), kNow - 121);
  status_ = running();
  const auto findings = found(HealthRule::kNoProgress);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kProblem);
  EXPECT_EQ(findings[0].text, "no progress for 121 s: iteration 30 of 500 was the last");
  EXPECT_EQ(findings[0].evidence[0].place, "n1.out:3");
}

TEST_F(JobHealth, ProgressIsSlowAtTimes) {
  status_ = running();
  write("n1.out", log_line(10, 4000) + log_line(20, 1000) + log_line(30, 1000), kNow - 119);
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty());
  // A slow first iteration is the only one known: 40 s between lines, limit 400 s.
  write("n1.out", log_line(10, 4000), kNow - 390);
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty());
  // Evaluations took 300 s before: 2027-01-15 08:00:00 is kNow.
  write("n1.out",
        log_line(10, 1000, "9", 500, "2027-01-15 07:40:00") +
            log_line(20, 1000, "9", 500, "2027-01-15 07:40:10") +
            log_line(30, 1000, "9", 500, "2027-01-15 07:45:10") +
            log_line(40, 1000, "9", 500, "2027-01-15 07:52:35"),
        kNow - 200);
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty()) << "445 s, and 1.5 times 445 s are allowed";
  // All iterations are done.
  write("n1.out", log_line(490, 1000) + log_line(500, 1000), kNow - 10000);
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty());
  // It waits in the queue again.
  write("n1.out", log_line(20, 1000) + log_line(30, 1000), kNow - 10000);
  status_->state = JobState::kPending;
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty());
}

TEST_F(JobHealth, OwnLinesSayHowLongStepsTake) {
  // 500 s for the 10 steps that are left: 50 s each, ten of them between two lines; 5000 s are allowed.
  status_ = running();
  const std::string line = ": loss 9.5000, lr 1.000e-04, 1234 tokens/s, ";
  write("n1.out", "step 80/100, epoch 1" + line + "16:40 left\nstep 90/100, epoch 1" + line + "8:20 left\n",
        kNow - 4900);
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty());
  write("n1.out", "step 80/100, epoch 1" + line + "16:40 left\nstep 90/100, epoch 1" + line + "8:20 left\n",
        kNow - 5100);
  EXPECT_THAT(found(HealthRule::kNoProgress), SizeIs(1));
}

TEST_F(JobHealth, DatesOfAnotherTimeZoneDoNotCount) {
  status_ = running();
  // Two hours behind by its date, written a second ago.
  write("n1.out",
        log_line(10, 1000, "9", 500, "2027-01-15 05:59:49") +
            log_line(20, 1000, "9", 500, "2027-01-15 05:59:59"),
        kNow - 1);
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty());
  // Other lines are still written; the date of the last iteration is 17 minutes ago.
  write("n1.out",
        log_line(10, 1000, "9", 500, "2027-01-15 07:42:50") +
            log_line(20, 1000, "9", 500, "2027-01-15 07:43:00") + "waiting\n",
        kNow - 1);
  EXPECT_THAT(found(HealthRule::kNoProgress), SizeIs(1));
}

TEST_F(JobHealth, AFolderThatEndedEarly) {
  write("n1.out", log_line(20, 1000) + log_line(30, 1000), kNow - 7200);
  const auto findings = found(HealthRule::kNoProgress);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].text, "stopped at iteration 30 of 500: nothing was written for 2 h");
}

// 2027-01-15 08:00:00 is kNow.
TEST_F(JobHealth, AFolderOfLongAgoHasEnded) {
  const auto expect_ended = [&](std::string_view text, std::string_view date) {
    EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty());
    const auto findings = found(HealthRule::kNotRunning);
    ASSERT_THAT(findings, SizeIs(1)) << text;
    EXPECT_EQ(findings[0].severity, HealthSeverity::kWarning);
    EXPECT_EQ(findings[0].text, text);
    EXPECT_THAT(findings[0].evidence[0].text, HasSubstr(date));
    const JobObservation seen{.log = log_, .status = status_, .now = sys_seconds{seconds(kNow)}};
    EXPECT_FALSE(runs_now(seen));
    EXPECT_FALSE(progress_of(seen).left) << "nothing is left of what has ended";
  };
  write("n1.out", log_line(20, 1000) + log_line(30, 1000), kNow - 86400);
  expect_ended("ended at iteration 30 of 500: how is not known", "2027-01-14 08:00, 24 h ago");
  // A copy: the files are new, and what is in them is not.
  write("n1.out",
        log_line(20, 1000, "9", 500, "2022-08-30 07:59:50") +
            log_line(30, 1000, "9", 500, "2022-08-30 08:00:00"),
        kNow - 1);
  write("n1.err", "fine\n", kNow - 1);
  write("n1.gpu", "[0] NVIDIA A10       | 49'C,   0 % |     0 / 22731 MB |\n", kNow - 1);
  expect_ended("ended at iteration 30 of 500: how is not known", "2022-08-30 08:00, 1599 d ago");
  // No iteration, and stderr says why.
  std::filesystem::remove(folder_ / "n1.gpu");
  write("n1.out", "NODE_RANK: 0\n", kNow - 200000);
  write("n1.err", "Segmentation fault (core dumped)\n", kNow - 200000);
  expect_ended("ended without an iteration: see what stderr says", "2027-01-13 00:26, 2 d 7 h ago");
  // The scheduler has forgotten it.
  status_ = JobStatus{.id = "12", .state = JobState::kUnknown};
  expect_ended("ended without an iteration: see what stderr says", "2 d 7 h ago");
}

TEST_F(JobHealth, WhatMayStillLiveHasNotEnded) {
  // Iterations stopped two days ago, and the sampler (which writes no times) goes on: it hangs.
  write("n1.out",
        log_line(20, 1000, "9", 500, "2027-01-13 07:59:50") +
            log_line(30, 1000, "9", 500, "2027-01-13 08:00:00"),
        kNow - 2 * 86400);
  write("n1.gpu", "[0] NVIDIA A10       | 49'C,   0 % |     0 / 22731 MB |\n", kNow - 1);
  EXPECT_THAT(found(HealthRule::kNotRunning), IsEmpty());
  auto findings = found(HealthRule::kNoProgress);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].text, "no progress for 2 d: iteration 30 of 500 was the last");
  // Slurm says that it runs.
  std::filesystem::remove(folder_ / "n1.gpu");
  status_ = running();
  EXPECT_THAT(found(HealthRule::kNotRunning), IsEmpty());
  EXPECT_THAT(found(HealthRule::kNoProgress), SizeIs(1));
  // All iterations are done, long ago.
  status_.reset();
  write("n1.out", log_line(490, 1000) + log_line(500, 1000), kNow - 900000);
  EXPECT_THAT(found(HealthRule::kNotRunning), IsEmpty());
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty());
}

TEST_F(JobHealth, NoFirstIteration) {
  write("n1.out", "NODE_RANK: 0\n", kNow - 1000);
  status_ = running(1200);
  EXPECT_THAT(found(HealthRule::kNoProgress), SizeIs(1));
  status_ = running(300);
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty()) << "still loading";
}

// What a script prints before its program starts is no output: the job has not begun.
TEST_F(JobHealth, SettingsOfTheScriptAreNoOutput) {
  const std::string settings = "SLURM_RESTART_COUNT: 0\nJOB_ID: 5\nNODE_RANK: 0\nWORLD_SIZE: 4\n";
  write("n1.out", settings);
  write("n1.err", "");
  status_ = running(1200);
  auto findings = found(HealthRule::kNoProgress);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kProblem);
  EXPECT_EQ(findings[0].text, "no iteration yet, 20 min after the start, and nothing is being written");
  EXPECT_EQ(findings[0].evidence[1].text, "settings of the script, and nothing of its program");
  // Loading that tells of itself may take long: a warning. When it falls silent, a problem.
  write("n1.out", settings + "loading checkpoint from /data/step_100\n", kNow - 30);
  findings = found(HealthRule::kNoProgress);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kWarning);
  write("n1.out", settings + "loading checkpoint from /data/step_100\n", kNow - 700);
  write("n1.err", "", kNow - 1200);
  EXPECT_EQ(found(HealthRule::kNoProgress).at(0).severity, HealthSeverity::kProblem);
}

// Without a scheduler the sampler says since when: 101 samples, 10 s apart.
TEST_F(JobHealth, BusyGpusWithoutAnIterationAreNoWork) {
  write("n1.out", "NODE_RANK: 0\n");
  write("n1.gpu", samples(101, 100));
  auto findings = found(HealthRule::kNoProgress);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kProblem);
  EXPECT_EQ(
      findings[0].text,
      "no iteration yet, 16 min after the start, and nothing is being written, while its GPU is busy: a rank "
      "may be missing from a collective");
  write("n1.gpu", samples(51, 100));
  EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty()) << "500 s";
  // Nor after some iterations: 1 s each, and none for 300 s.
  write("n1.out", log_line(10, 1000) + log_line(11, 1000), kNow - 300);
  status_ = running();
  findings = found(HealthRule::kNoProgress);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].text, HasSubstr("was the last, while its GPU is busy"));
}

TEST_F(JobHealth, APauseOfWhichTheLogTellsIsProgress) {
  const std::string steps = log_line(10, 1000) + log_line(11, 1000);
  status_ = running();
  for (const char* told : {"saving checkpoint at iteration 11 to run\n", "Evaluating iter 3/10\n",
                           "saved run/checkpoint-11\n"}) {
    SCOPED_TRACE(told);
    write("n1.out", steps + told, kNow - 400);
    EXPECT_THAT(found(HealthRule::kNoProgress), IsEmpty());
    write("n1.out", steps + told, kNow - 700);
    EXPECT_THAT(found(HealthRule::kNoProgress), SizeIs(1)) << "not for ever";
  }
  write("n1.out", steps, kNow - 400);
  EXPECT_THAT(found(HealthRule::kNoProgress), SizeIs(1));
}

TEST(StartPatience, FollowsThePlan) {
  EXPECT_EQ(start_patience(std::nullopt), seconds(600));
  EXPECT_EQ(start_patience(Nanoseconds{1'000'000'000}), seconds(600)) << "20 steps of 1 s are less";
  EXPECT_EQ(start_patience(Nanoseconds{60'000'000'000}), seconds(1200)) << "20 steps of 60 s";
}

// ---- loss ----

TEST_F(JobHealth, LossIsNotANumber) {
  write("n1.out", log_line(10, 1000) + log_line(20, 1000, "nan") + log_line(30, 1000, "NaN"));
  const auto findings = found(HealthRule::kLoss);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kProblem);
  EXPECT_EQ(findings[0].text, "the loss is not a number since iteration 20 or before");
  EXPECT_EQ(findings[0].evidence[0].place, "n1.out:2");
  write("n1.out", log_line(10, 1000) + log_line(20, 1000, "9.5", 500, "", 3));
  EXPECT_THAT(found(HealthRule::kLoss), SizeIs(1)) << "by Megatron's own count";
  write("n1.out", log_line(10, 1000, "inf") + log_line(20, 1000));
  EXPECT_EQ(found(HealthRule::kLoss).at(0).severity, HealthSeverity::kWarning) << "it went by";
}

TEST_F(JobHealth, SpikesAndMissingLossesAreNumbers) {
  write("n1.out", log_line(10, 1000) + log_line(20, 1000, "9.9E+30") + log_line(30, 1000, "") +
                      log_line(40, 1000, "0.0"));
  EXPECT_THAT(found(HealthRule::kLoss), IsEmpty());
  // The loss of the start before.
  write("n1.out",
        "RESTART_COUNT: 0\n" + log_line(10, 1000, "nan") + "RESTART_COUNT: 1\n" + log_line(10, 1000));
  EXPECT_THAT(found(HealthRule::kLoss), IsEmpty());
}

// ---- slow nodes ----

LoggedIteration timers_of(const std::vector<std::int64_t>& milliseconds) {
  LoggedTimer timer{.name = "forward-compute"};
  for (std::size_t rank = 0; rank < milliseconds.size(); ++rank)
    timer.ranks.push_back(
        {.rank = static_cast<std::int64_t>(rank), .time = Nanoseconds{milliseconds[rank] * 1'000'000}});
  return {.iteration = 10, .timers = {timer}};
}

TEST_F(JobHealth, OneNodeIsSlower) {
  // 4 nodes of 2 ranks, 2 stages: ranks 0 to 3 and 4 to 7. n1 computes 13 / 10 times as long as n0.
  for (int i = 0; i < 4; ++i)
    write("n" + std::to_string(i) + ".out",
          "NODE_RANK: " + std::to_string(i) + "\nNNODES: 4\nWORLD_SIZE: 8\nPIPELINE_MP_SIZE: 2\n");
  timers_ = timers_of({100, 100, 130, 130, 200, 200, 205, 205});
  const auto findings = found(HealthRule::kSlowNode);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].nodes, ElementsAre("n1"));
  EXPECT_EQ(findings[0].text, "n1 is slower than the others: 1.30 times");
}

TEST_F(JobHealth, StagesAndOtherGpusAreNotSlower) {
  for (int i = 0; i < 4; ++i)
    write("n" + std::to_string(i) + ".out",
          "NODE_RANK: " + std::to_string(i) + "\nNNODES: 4\nWORLD_SIZE: 8\nPIPELINE_MP_SIZE: 2\n");
  timers_ = timers_of({100, 100, 110, 110, 200, 200, 205, 205});  // another stage has more to do
  EXPECT_THAT(found(HealthRule::kSlowNode), IsEmpty());
  timers_ = timers_of({100, 100, 180, 180, 200, 200, 205, 205});
  write("n1.gpu", "[0] NVIDIA T4 | 49'C,   0 % |     0 / 15000 MB |\n");
  EXPECT_THAT(found(HealthRule::kSlowNode), IsEmpty()) << "a mixed cluster";
}

TEST_F(JobHealth, NodesOfEarlierStartsAreNotSlower) {
  const auto lines = [](double time) {
    return log_line(10, 9000) + log_line(20, time) + log_line(30, time) + log_line(40, time);
  };
  const std::string first = "SLURM_RESTART_COUNT: 0\n", second = "SLURM_RESTART_COUNT: 1\n";
  // n0 was slow in the first start, and is in the second no more; n1 took part in the first alone.
  write("n0.out", first + lines(1500) + second + lines(1000));
  write("n1.out", first + lines(1500));
  write("n2.out", second + lines(1000));
  EXPECT_THAT(found(HealthRule::kSlowNode), IsEmpty());
  write("n2.out", second + lines(1500));
  EXPECT_THAT(found(HealthRule::kSlowNode), SizeIs(1));
}

TEST_F(JobHealth, SlowerByTheirOwnLines) {
  for (int i = 0; i < 4; ++i) {
    const double time = i == 2 ? 1500 : 1000;
    write("n" + std::to_string(i) + ".out",
          log_line(10, 9000) + log_line(20, time) + log_line(30, time) + log_line(40, time));
  }
  const auto findings = found(HealthRule::kSlowNode);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].nodes, ElementsAre("n2"));
  // A slow first line and one slow evaluation are none.
  write("n2.out", log_line(10, 90000) + log_line(20, 1000) + log_line(30, 20000) + log_line(40, 1000));
  EXPECT_THAT(found(HealthRule::kSlowNode), IsEmpty());
}

// ---- heat, clocks, memory ----

TEST_F(JobHealth, ThrottledGpus) {
  write("n1.gpu", samples(10, 99, "80", 20000, "0x0000000000000044"));
  const auto findings = found(HealthRule::kThrottledGpu);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].evidence[0].text, "GPU 0 of n1: thermal slowdown by hardware (99 % at 1710 MHz)");
}

TEST_F(JobHealth, PowerLimitAndIdleClocksAreNormal) {
  write("n1.gpu", samples(10, 99, "80", 20000, "0x0000000000000004") + samples(10, 0, "30", 0, "0x1", 1));
  EXPECT_THAT(found(HealthRule::kThrottledGpu), IsEmpty());
  // A single sample decides nothing.
  write("n1.gpu", samples(9, 99) + "gpu 1800000010 0, NVIDIA A10, 49, 99, 20000, 22731, 0x40, 900, 60\n");
  EXPECT_THAT(found(HealthRule::kThrottledGpu), IsEmpty());
}

TEST_F(JobHealth, HotGpus) {
  write("n1.gpu", samples(10, 99, "88"));
  const auto findings = found(HealthRule::kHotGpu);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].text, "one GPU is hot: n1");
  write("n1.gpu", samples(10, 99, "86"));
  EXPECT_THAT(found(HealthRule::kHotGpu), IsEmpty());
  write("n1.gpu", samples(9, 99, "80") + "gpu 1800000010 0, NVIDIA A10, 95, 99, 20000, 22731\n");
  EXPECT_THAT(found(HealthRule::kHotGpu), IsEmpty()) << "a moment";
}

TEST_F(JobHealth, MemoryNearlyFull) {
  // 22300 of 22731 MB are 98.1 %.
  write("n1.gpu", samples(10, 99, "60", 22300));
  EXPECT_THAT(found(HealthRule::kMemoryFull), SizeIs(1));
  write("n1.gpu", samples(10, 99, "60", 22000));
  EXPECT_THAT(found(HealthRule::kMemoryFull), IsEmpty()) << "96.8 %: what an allocator that keeps memory has";
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += "cpu " + std::to_string(kNow - 50 + 10 * i) + " 64, 37, 99000, 100000, 31.2\n";
  write("n1.gpu", text);
  const auto host = found(HealthRule::kMemoryFull);
  ASSERT_THAT(host, SizeIs(1));
  EXPECT_THAT(host[0].evidence[0].text, HasSubstr("memory of n1"));
}

// ---- requeued ----

TEST_F(JobHealth, Requeued) {
  write("n1.out", "RESTART_COUNT: 0\n" + log_line(10, 1000) + log_line(20, 1000) + "RESTART_COUNT: 1\n" +
                      log_line(30, 1000));
  const auto findings = found(HealthRule::kRequeued);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, HealthSeverity::kNote);
  EXPECT_EQ(findings[0].text, "was queued again once");
  EXPECT_EQ(findings[0].evidence[0].place, "n1.out:4");
  EXPECT_EQ(findings[0].evidence[1].text, "went on with iteration 30 after 20");
  write("n1.out", "RESTART_COUNT: 0\n" + log_line(10, 1000) + log_line(20, 1000) + "RESTART_COUNT: 1\n" +
                      log_line(10, 1000));
  const auto lost = found(HealthRule::kRequeued);
  EXPECT_EQ(lost.at(0).severity, HealthSeverity::kWarning);
  EXPECT_THAT(lost.at(0).text, HasSubstr("what was done up to 20 is lost"));
}

TEST_F(JobHealth, OneStartIsNoRequeue) {
  write("n1.out",
        "RESTART_COUNT: 0\nRESTART_COUNT: 0\nNODE_RANK: 0\n" + log_line(10, 1000) + log_line(20, 1000));
  EXPECT_THAT(found(HealthRule::kRequeued), IsEmpty());
}

// ---- all of it ----

TEST_F(JobHealth, AWellJobHasNoFindings) {
  write("n1.out", log_line(10, 4000) + log_line(20, 1000) + log_line(30, 1000), kNow - 5);
  write("n1.err", "UserWarning: error\n");
  write("n1.gpu", samples(30, 97));
  status_ = running();
  log_ = read_job_log({folder_});
  const JobObservation seen{.log = log_, .status = status_, .now = sys_seconds{seconds(kNow)}};
  EXPECT_THAT(job_findings(seen), IsEmpty());
  EXPECT_TRUE(is_healthy(job_findings(seen)));
  const JobProgress progress = progress_of(seen);
  EXPECT_EQ(progress.iteration, 30);
  EXPECT_EQ(progress.iteration_time, Nanoseconds{1'000'000'000});
  EXPECT_EQ(progress.left, Nanoseconds{470'000'000'000}) << "470 iterations of 1 s";
}

TEST(FourRules, AnswerWithEvidence) {
  JobLog log;
  NodeLog node{.name = "n1"};
  node.out.path = "n1.out";
  node.err = {.path = "n1.err", .lines = 7};
  node.warnings = 2;
  node.settings = {{.name = "NNODES", .value = "2", .line = 3}};
  log.nodes.push_back(node);
  JobObservation seen{.log = log,
                      .status = JobStatus{.id = "7", .state = JobState::kDone, .said = "COMPLETED"},
                      .asked = {{.name = "NNODES", .value = "2", .where = "_00_conf.sh:4"},
                                {.name = "NSYS", .value = "false", .where = "_00_conf.sh:9"}}};
  const std::vector<JobVerdict> well = four_rules(seen, {});
  ASSERT_EQ(well.size(), 4U);
  EXPECT_EQ(well[0].answer, JobAnswer::kGood);
  EXPECT_EQ(well[0].evidence[0].text, "COMPLETED");
  EXPECT_EQ(well[1].answer, JobAnswer::kUnknown);  // no GPUs were sampled
  EXPECT_EQ(well[2].text, "no error in 7 lines of 1 file; 2 lines of warnings");
  EXPECT_EQ(well[3].text, "1 of 2 settings asked for are in effect; nobody prints NSYS");
  EXPECT_EQ(well[3].evidence[0].place, "n1.out:3");
  EXPECT_EQ(well[3].evidence[0].text, "NNODES 2, asked for 2 in _00_conf.sh:4");
  seen.status.reset();
  const std::vector<JobVerdict> ill = four_rules(
      seen, {{.rule = HealthRule::kErrors,
              .severity = HealthSeverity::kProblem,
              .text = "out of memory",
              .evidence = {{.place = "n1.err:5", .text = "CUDA out of memory"}}},
             {.rule = HealthRule::kSettings, .severity = HealthSeverity::kNote, .text = "a note"}});
  EXPECT_EQ(ill[0].answer, JobAnswer::kUnknown);
  EXPECT_EQ(ill[2].answer, JobAnswer::kBad);
  EXPECT_EQ(ill[2].evidence[0].place, "n1.err:5");
  EXPECT_EQ(ill[3].answer, JobAnswer::kGood) << "notes do not decide";
}

}  // namespace
}  // namespace nadi::inline jobs
