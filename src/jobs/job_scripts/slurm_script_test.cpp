// Scripts for Slurm: what stands in them, and what they do under programs that stand in for Slurm's. Real
// Slurm runs them in tests/slurm.
#include "nadi/job_scripts/slurm_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "nadi/base/error.h"
#include "nadi/job_scripts/local_script.h"
#include "nadi/job_scripts/run_script_for_tests.h"
#include "nadi/process/find_program.h"
#include "nadi/shell/hostile_texts_for_tests.h"
#include "nadi/testing/temporary_variable.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

JobFile mixed_job() {
  JobFile job = command_job({"hostname"});
  job.groups = {
      {.nodes = 1,
       .ranks_per_node = 8,
       .gpus_per_node = 8,
       .gpu_type = "a100",
       .cpus_per_rank = 4,
       .partitions = {"a100"}},
      {.nodes = 2, .ranks_per_node = 4, .gpus_per_node = 4, .partitions = {"a10"}, .constraint = "a10"}};
  return job;
}

// One of each kind of script there is.
std::vector<JobFile> many_jobs() {
  std::vector<JobFile> jobs{command_job({"true"}), mixed_job(), mixed_job()};
  jobs[2].mixing = JobMixing::kJobs;
  for (const ContainerKind kind :
       {ContainerKind::kPyxis, ContainerKind::kEnroot, ContainerKind::kApptainer, ContainerKind::kDocker}) {
    JobFile job = command_job(hostile_texts());
    std::erase_if(job.run.words,
                  [](const std::string& word) { return word.find("${") != std::string::npos; });
    job.container = {.kind = kind, .image = "an image's name", .mounts = {"/a b:/c"}, .folder = "/w x"};
    job.groups[0].gpus_per_node = 1;
    jobs.push_back(job);
  }
  JobFile train = command_job({"gpt2", "--save-dir", "out"});
  train.run.kind = JobRunKind::kTrain;
  train.run.setup = {"module load 'cuda", "echo \"}\""};
  train.time = std::chrono::hours(1);
  train.requeue = {.before_end = std::chrono::seconds(60),
                   .max_restarts = 3,
                   .on_failure = true,
                   .exclude_failed_nodes = true};
  jobs.push_back(train);
  train.profile.trace = ProfilerUse{.steps = StepRange{10, 12}};
  jobs.push_back(train);
  JobFile sweep = command_job({"echo", "${A}", "${B}"});
  sweep.sweep = {.values = {{"A", hostile_texts()}, {"B", {"1", "2"}}}, .at_once = 2};
  jobs.push_back(sweep);
  JobFile profiled = command_job({"pretrain_gpt.py"});
  profiled.run.kind = JobRunKind::kMegatron;
  profiled.requeue = {.before_end = std::chrono::seconds(60), .max_restarts = 1};
  profiled.time = std::chrono::hours(1);
  profiled.profile.nsys = ProfilerUse{.steps = StepRange{10, 12}, .ranks = {0}};
  jobs.push_back(profiled);
  return jobs;
}

TEST(SlurmScript, IsBash) {
  if (!find_program("bash")) GTEST_SKIP() << "no bash on PATH";
  const WorkingFolder folder;
  for (JobFile job : many_jobs()) {
    check_job(job);
    for (const SlurmScript& script : slurm_scripts(job)) {
      write_text("script.sh", script.text);
      EXPECT_EQ(std::system("bash -n script.sh"), 0) << script.text;
    }
    if (job.groups.size() > 1 || job.container.kind == ContainerKind::kPyxis) continue;
    job.scheduler = SchedulerKind::kLocal;
    write_text("script.sh", local_script(job));
    EXPECT_EQ(std::system("bash -n script.sh"), 0) << local_script(job);
  }
}

TEST(SlurmScript, AMixedJobIsOneJobWithOneStep) {
  const std::vector<SlurmScript> scripts = slurm_scripts(mixed_job());
  ASSERT_EQ(scripts.size(), 1U);
  EXPECT_THAT(
      scripts[0].text,
      AllOf(HasSubstr("#SBATCH --nodes=1 --ntasks-per-node=8 --cpus-per-task=4\n#SBATCH --gres=gpu:a100:8\n"),
            HasSubstr("#SBATCH hetjob\n#SBATCH --nodes=2 --ntasks-per-node=4 --cpus-per-task=1\n"),
            HasSubstr("--het-group=0 --nodes=1 --ntasks=8"), HasSubstr("  : "),
            HasSubstr("--het-group=1 --nodes=2 --ntasks=8"), HasSubstr("WORLD_SIZE=16"),
            HasSubstr("$SLURM_JOB_NODELIST_HET_GROUP_1")));
}

TEST(SlurmScript, OrSeveralJobsThatMeet) {
  JobFile job = mixed_job();
  job.mixing = JobMixing::kJobs;
  const std::vector<SlurmScript> scripts = slurm_scripts(job);
  ASSERT_EQ(scripts.size(), 2U);
  EXPECT_THAT(scripts[0].text,
              AllOf(Not(HasSubstr("hetjob")), HasSubstr("master.txt"), Not(HasSubstr("@MASTER"))));
  const std::string second = with_master_job(scripts[1].text, "123");
  // 8 ranks and 1 node come before.
  EXPECT_THAT(second, AllOf(HasSubstr("#SBATCH --dependency=after:123\n"), HasSubstr("export JOB_ID=123"),
                            HasSubstr("RANK=$((SLURM_PROCID + 8))"), HasSubstr("NODE_RANK=$((node + 1))"),
                            Not(HasSubstr("@MASTER"))));
}

TEST(SlurmScript, ValuesOfPassedVariablesAreNowhere) {
  const TemporaryVariable secret("NADI_TEST_SECRET", "do-not-show");
  JobFile job = command_job({"true"});
  job.environment = {.inherit = false, .pass = {"NADI_TEST_SECRET"}, .set = {{"SHOWN", "it's"}}};
  const std::string text = slurm_scripts(job)[0].text;
  EXPECT_THAT(text,
              AllOf(HasSubstr("#SBATCH --export=NADI_TEST_SECRET\n"), Not(HasSubstr("do-not-show")),
                    HasSubstr("export SHOWN='it'\\''s'"), Not(HasSubstr("set -x")), Not(HasSubstr("\nenv"))));
}

TEST(SlurmScript, TrainingIsResumedAndSavesOnASignal) {
  JobFile job = command_job({"gpt2", "--save-dir", "out"});
  job.run.kind = JobRunKind::kTrain;
  job.groups[0].ranks_per_node = 2;
  job.time = std::chrono::hours(2);
  job.requeue = {.before_end = std::chrono::seconds(120), .max_restarts = 3};
  const std::string text = slurm_scripts(job)[0].text;
  EXPECT_THAT(text,
              AllOf(HasSubstr("#SBATCH --requeue\n#SBATCH --time=2:00:00\n#SBATCH --signal=B:USR1@120\n"),
                    HasSubstr("nadi train gpt2 --save-dir out --resume-if-any"), HasSubstr("--mpi=pmix"),
                    HasSubstr("export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring}\n"),
                    HasSubstr("kill -USR1 \"$step\""), HasSubstr("scontrol requeue"),
                    HasSubstr("RESTART_COUNT < 3")));
  job.run.kind = JobRunKind::kMegatron;
  EXPECT_THAT(slurm_scripts(job)[0].text, HasSubstr("scancel --signal=TERM \"$SLURM_JOB_ID\""));
}

// Wherever a line of the command ends, which the length of the program's path decides.
TEST(SlurmScript, AFlagStaysWithItsValue) {
  for (std::size_t length = 1; length <= 110; ++length) {
    JobFile job = command_job({"gpt2", "--max-steps", "2", "--save-dir", "out"});
    job.run.kind = JobRunKind::kTrain;
    job.run.program = "/" + std::string(length, 'n');
    EXPECT_THAT(slurm_scripts(job)[0].text, AllOf(HasSubstr("--max-steps 2"), HasSubstr("--save-dir out")))
        << length;
  }
}

TEST(SlurmScript, ProfilersGetAFileForEachRank) {
  // With the words of the command on one line.
  const auto script_of = [](const JobFile& one) {
    return std::regex_replace(slurm_scripts(one)[0].text, std::regex("\n {17}"), " ");
  };
  JobFile job = command_job({"pretrain_gpt.py"});
  job.run.kind = JobRunKind::kMegatron;
  job.groups[0].ranks_per_node = 4;
  job.profile.nsys = ProfilerUse{.steps = StepRange{10, 12}, .ranks = {0, 3}};
  // Steps 10 to 12 from 1 are iterations 9 up to, and without, 12 from 0.
  EXPECT_THAT(script_of(job),
              AllOf(HasSubstr("nsys profile -s none -t nvtx,cuda --capture-range=cudaProfilerApi "
                              "--capture-range-end=stop -o \"$profile\""),
                    HasSubstr("0|3) command="), HasSubstr("--profile-step-start 9 --profile-step-end 12 "),
                    HasSubstr("--profile-ranks 0 3)")));
  // All: older versions of Megatron-LM mark the steps of rank 0 alone unless they are told the others.
  job.profile.nsys->ranks = {};
  EXPECT_THAT(script_of(job), AllOf(HasSubstr("*) command="), HasSubstr("--profile-ranks 0 1 2 3)")));
  job.run.kind = JobRunKind::kTrain;
  EXPECT_THAT(script_of(job), testing::Not(HasSubstr("--profile-ranks")));
  job.run.kind = JobRunKind::kMegatron;
  job.profile = {};
  job.profile.trace = ProfilerUse{.steps = StepRange{10, 12}};
  EXPECT_THAT(script_of(job),
              AllOf(HasSubstr("--profile --use-pytorch-profiler "), HasSubstr("--profile-ranks 0 1 2 3)")));
  job.profile = {};
  job.profile.ncu = ProfilerUse{.steps = StepRange{10, 10}, .ranks = {0}};
  EXPECT_THAT(script_of(job), HasSubstr("ncu --target-processes all --profile-from-start off -o"));
}

// Slurm replaces the list of the job by the new one, and a heterogeneous job has a list for each group.
TEST_F(RunScript, FailedNodesAreExcludedBesideThoseOfTheUser) {
  write_program("scontrol",
                "case \"$*\" in 'show hostnames'*) echo n1 ;; *requeue*|update*) echo \"$*\" >>said.txt ;; "
                "*) echo 'NodeName=n1 NodeAddr=10.0.0.1 x=y' ;; esac");
  write_program("srun", "echo 'srun: error: n1: task 0: Exited with exit code 7' >&2; exit 7");
  JobFile job = command_job({"false"});
  job.sample_every = {};
  job.groups[0].exclude = {"n8", "m[1-3]"};
  job.requeue = {.max_restarts = 1, .on_failure = true, .exclude_failed_nodes = true};
  EXPECT_EQ(run(job), 7);
  EXPECT_EQ(read_text("said.txt"), "requeue 7\nupdate JobId=7 ExcNodeList=m[1-3],n1,n8\n");
  EXPECT_THAT(read_text("slurm.txt"),
              AllOf(HasSubstr("the first failure was on node n1\n"), HasSubstr(" excluded: m[1-3],n1,n8\n")));
  job.groups.push_back(job.groups[0]);
  job.groups[1].exclude = {};
  EXPECT_THAT(
      slurm_scripts(job)[0].text,
      AllOf(
          HasSubstr("scontrol update JobId=\"$SLURM_JOB_ID_HET_GROUP_0\" "),
          HasSubstr("    excluded=$({ cat -- \"$JOB_FOLDER/failed_nodes.txt\"; } | sort -u | paste -sd, -)\n"
                    "    scontrol update JobId=\"$SLURM_JOB_ID_HET_GROUP_1\" ")));
}

// What srun says reaches the script's file through another process, which a busy machine runs late.
TEST_F(RunScript, AFailureIsSeenHoweverLateItsMessageIsCopied) {
  write_program("tee", "sleep 1; exec " + find_program("tee")->string() + " \"$@\"");
  write_program("srun", "echo 'srun: error: n1: task 0: Exited with exit code 7' >&2; exit 7");
  JobFile job = command_job({"false"});
  job.sample_every = {};
  EXPECT_EQ(run(job), 7);
  EXPECT_EQ(read_text("jobs/7/failed_nodes.txt"), "n1\n");
}

// The first of two jobs may write its address and end between two looks of the second: at the file, and at
// squeue.
TEST_F(RunScript, AJobThatEndsAtOnceIsMetAllTheSame) {
  write_program("squeue", "echo '10.0.0.1 29500' >jobs/7/master.txt");
  JobFile job = command_job({"bash", "-c", "echo met at $MASTER_ADDR:$MASTER_PORT"});
  job.sample_every = {};
  job.groups.push_back(job.groups[0]);
  job.mixing = JobMixing::kJobs;
  check_job(job);
  EXPECT_EQ(run_script(with_master_job(slurm_scripts(job)[1].text, "7")), 0) << read_text("slurm.txt");
  EXPECT_THAT(read_text("jobs/7/n1.out"), HasSubstr("met at 10.0.0.1:29500\n"));
}

TEST_F(RunScript, HostileWordsReachTheCommand) {
  std::vector<std::string> words{"printf", "<%s>\\n"};
  std::string expected;
  for (const std::string& text : hostile_texts()) {
    std::string word = text;
    if (const std::size_t at = word.find("${"); at != std::string::npos) word.insert(at, "$");
    words.push_back(word);
    expected += "<" + text + ">\n";
  }
  JobFile job = command_job(words);
  job.name = "'; touch " + std::string(kHostileMark) + "; $(touch " + kHostileMark + ")";
  job.outputs = std::filesystem::current_path() / "out put's $(touch hostile_was_here) `x` %j";
  ASSERT_EQ(run(job), 0) << read_text("slurm.txt");
  EXPECT_THAT(read_text(job.outputs / "7" / "n1.out"), HasSubstr(expected));
  EXPECT_FALSE(std::filesystem::exists(kHostileMark)) << "a text was executed";
}

TEST_F(RunScript, SettingsInEffectStandAtTheHead) {
  JobFile job = command_job({"bash", "-c", "echo $RANK $WORLD_SIZE $MASTER_ADDR; echo oops >&2; exit 3"});
  EXPECT_EQ(run(job), 3);
  EXPECT_THAT(read_text("jobs/7/n1.out"),
              AllOf(HasSubstr("SLURM_RESTART_COUNT: 0\n"), HasSubstr("NODE_RANK: 0\n"),
                    HasSubstr("NNODES: 1\n"), HasSubstr("WORLD_SIZE: 1\n"),
                    HasSubstr("MASTER_ADDR: 10.0.0.1\n"), HasSubstr("\n0 1 10.0.0.1\n")));
  EXPECT_EQ(read_text("jobs/7/n1.err"), "SLURM_RESTART_COUNT: 0\noops\n");
  EXPECT_TRUE(std::filesystem::is_symlink("jobs/7/slurm.txt"));
}

TEST_F(RunScript, AFailedRankIsRestartedAndCounted) {
  JobFile job = command_job({"false"});
  job.requeue = {.max_restarts = 2, .on_failure = true};
  EXPECT_EQ(run(job), 1);
  EXPECT_EQ(read_text("said.txt"), "requeue 7\n");
  const TemporaryVariable restarts("SLURM_RESTART_COUNT", "2");
  EXPECT_EQ(run(job), 1);
  EXPECT_EQ(read_text("said.txt"), "requeue 7\n");  // no third one
  const TemporaryVariable more("SLURM_RESTART_COUNT", "3");
  EXPECT_EQ(run(job), 1);
  EXPECT_THAT(read_text("slurm.txt"), HasSubstr("queued again too often: max_restarts is 2"));
}

// srun of Slurm 22.05 may stay after the end of a heterogeneous step with PMIx.
TEST_F(RunScript, AnSrunThatStaysBehindItsStepIsEnded) {
  write_program(
      "srun",
      "touch \"$JOB_FOLDER/step.started\"; echo 'srun: error: n1: task 0: Exited with exit code 7' >&2\n"
      "exec sleep 60");
  // The first time the step is still there, with that of the sampler; then the sampler's alone.
  write_program(
      "squeue",
      "echo '7.batch batch'; echo '7.1 nadi-sampler'; [ -e asked ] || echo '7.0 bash'; touch asked");
  JobFile job = mixed_job();
  job.groups[1].nodes = 1;
  job.run = {.kind = JobRunKind::kTrain, .words = {"gpt2-tiny"}};
  job.sample_every = {};
  check_job(job);
  std::string script = slurm_scripts(job)[0].text;
  const std::string pause = "sleep 10";
  ASSERT_NE(script.find(pause), std::string::npos) << script;
  script.replace(script.find(pause), pause.size(), "sleep 0.1");
  EXPECT_EQ(run_script(script), 7) << read_text("slurm.txt");
  EXPECT_THAT(read_text("slurm.txt"), HasSubstr("srun did not end with its step and was killed"));
  EXPECT_TRUE(std::filesystem::exists("asked"));
}

TEST_F(RunScript, TheSignalBeforeTheEndReachesTheRanks) {
  JobFile job =
      command_job({"bash", "-c", "trap 'echo saved; exit 0' USR2; kill -USR1 $PPID; sleep 5 & wait"});
  job.time = std::chrono::hours(1);
  job.requeue = {.before_end = std::chrono::seconds(60), .signal = "USR2", .max_restarts = 1};
  EXPECT_EQ(run(job), 0) << read_text("slurm.txt");
  EXPECT_THAT(read_text("jobs/7/n1.out"), HasSubstr("saved"));
  EXPECT_THAT(read_text("slurm.txt"), HasSubstr("queued again: restart 1 of 1"));
}

TEST_F(RunScript, ARunOfASweepHasItsValues) {
  JobFile job = command_job({"echo", "a=${A}", "b=${B}"});
  job.sweep.values = {{"A", {"1", "2"}}, {"B", {"it's", "$(touch hostile_was_here)"}}};
  EXPECT_EQ(run(job), 0) << read_text("slurm.txt");  // run 1 of 4
  EXPECT_THAT(read_text("jobs/7/n1.out"), HasSubstr("a=1 b=$(touch hostile_was_here)\n"));
  EXPECT_FALSE(std::filesystem::exists(kHostileMark));
}

}  // namespace
}  // namespace nadi::inline jobs
