#include "nadi/scheduler/local_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/process/find_program.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/shell/hostile_texts_for_tests.h"
#include "nadi/testing/temporary_variable.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class LocalJobs : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_program("bash")) GTEST_SKIP() << "no bash on PATH";
    job_.scheduler = SchedulerKind::kLocal;
    job_.name = "test";
    job_.outputs = fs::current_path() / "jobs";
    job_.sample_every = std::chrono::seconds(0);
  }
  SubmittedJob submit(std::vector<std::string> words) {
    job_.run.words = std::move(words);
    return scheduler().submit(job_, {.wait = true});
  }
  LocalScheduler scheduler() { return LocalScheduler({.outputs = job_.outputs}); }
  // What the ranks printed.
  static std::string printed(const fs::path& folder, std::string_view ending) {
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ending) return read_text(entry.path());
    return "nothing";
  }

  WorkingFolder folder_;
  JobFile job_;
};

TEST_F(LocalJobs, RanksRunInTheBackgroundAndAreWrittenDown) {
  job_.groups[0].ranks_per_node = 3;
  const SubmittedJob submitted = submit({"bash", "-c", "echo rank $RANK of $WORLD_SIZE"});
  EXPECT_THAT(submitted.id, testing::MatchesRegex("local-[0-9]{8}-[0-9]{6}-[0-9a-f]{4}"));
  const JobStatus status = scheduler().status(submitted.id);
  EXPECT_EQ(status.state, JobState::kDone) << read_text(submitted.folder / "slurm.txt");
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_EQ(status.name, "test");
  const std::string out = printed(submitted.folder, ".out");
  for (const char* line : {"rank 0 of 3\n", "rank 1 of 3\n", "rank 2 of 3\n"})
    EXPECT_THAT(out, HasSubstr(line));
  EXPECT_EQ(read_job_of(submitted.folder), job_);
  EXPECT_EQ(read_submitted_job(submitted.folder)->id, submitted.id);
  EXPECT_NE(submit({"true"}).id, submitted.id);
  EXPECT_EQ(scheduler().list({.ended = true}).size(), 2U);
  EXPECT_TRUE(scheduler().list({}).empty());
}

TEST_F(LocalJobs, AFailureEndsTheOthers) {
  job_.groups[0].ranks_per_node = 2;
  const auto begin = std::chrono::steady_clock::now();
  const SubmittedJob submitted = submit({"bash", "-c", "if ((RANK == 0)); then exit 7; fi; exec sleep 60"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  const JobStatus status = scheduler().status(submitted.id);
  EXPECT_EQ(status.state, JobState::kFailed);
  EXPECT_EQ(status.exit_code, 7);
}

TEST_F(LocalJobs, AFailedJobIsStartedAgain) {
  job_.requeue = {.max_restarts = 2, .on_failure = true};
  const SubmittedJob submitted =
      submit({"bash", "-c", "if ((RESTART_COUNT < 2)); then exit 1; fi; echo third"});
  const JobStatus status = scheduler().status(submitted.id);
  EXPECT_EQ(status.state, JobState::kDone);
  EXPECT_EQ(status.restarts, 2);
  EXPECT_THAT(printed(submitted.folder, ".out"), HasSubstr("SLURM_RESTART_COUNT: 2\n"));
}

TEST_F(LocalJobs, TheEndOfTheTimeTellsTheRanksAndStartsAgain) {
  job_.time = std::chrono::seconds(3);
  job_.requeue = {.before_end = std::chrono::seconds(2), .max_restarts = 1};
  const SubmittedJob submitted = submit({"bash", "-c",
                                         "if ((RESTART_COUNT == 1)); then echo resumed; exit 0; fi; trap "
                                         "'echo saved; exit 0' TERM; sleep 20 & wait"});
  EXPECT_EQ(scheduler().status(submitted.id).state, JobState::kDone);
  EXPECT_THAT(printed(submitted.folder, ".out"),
              testing::AllOf(HasSubstr("saved\n"), HasSubstr("resumed\n")));
}

TEST_F(LocalJobs, ATimeThatIsOverEndsTheJob) {
  job_.time = std::chrono::seconds(1);
  EXPECT_EQ(scheduler().status(submit({"sleep", "60"}).id).state, JobState::kTimedOut);
}

TEST_F(LocalJobs, CancelEndsIt) {
  job_.run.words = {"sleep", "60"};
  const SubmittedJob submitted = scheduler().submit(job_, {});
  EXPECT_THROW(scheduler().resume(submitted.folder, {}), Error);  // two would write the same files
  scheduler().cancel(submitted.id);
  // Ranks that are only just starting may miss SIGTERM; SIGKILL follows after half a minute.
  for (int i = 0; i < 450 && !has_ended(scheduler().status(submitted.id).state); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(scheduler().status(submitted.id).state, JobState::kCancelled);
  EXPECT_THROW(scheduler().cancel(submitted.id), Error);
  EXPECT_THROW(scheduler().status("local-9"), Error);
}

TEST_F(LocalJobs, OnlyNamedVariablesArePassed) {
  const TemporaryVariable secret("NADI_TEST_SECRET", "secret-1"), other("NADI_TEST_OTHER", "other-1");
  job_.environment = {.inherit = false, .pass = {"NADI_TEST_SECRET"}, .set = {{"NADI_TEST_SET", "a b"}}};
  const SubmittedJob submitted =
      submit({"bash", "-c", "echo \"<$NADI_TEST_SECRET|$NADI_TEST_OTHER|$NADI_TEST_SET>\""});
  EXPECT_THAT(printed(submitted.folder, ".out"), HasSubstr("<secret-1||a b>"));
  for (const char* name : {"job.json", "script.sh", "submitted.json", "slurm.txt"})
    EXPECT_THAT(read_text(submitted.folder / name), Not(HasSubstr("secret-1"))) << name;
}

TEST_F(LocalJobs, ASweepRunsEachCombination) {
  job_.sweep.values = {{"A", {"1", "2"}}, {"B", {"x", "$(touch hostile_was_here)"}}};
  const SubmittedJob submitted = submit({"echo", "${A}-${B}"});
  EXPECT_EQ(scheduler().status(submitted.id).state, JobState::kDone);
  EXPECT_THAT(printed(job_.outputs / (submitted.id + "_0"), ".out"), HasSubstr("1-x\n"));
  EXPECT_THAT(printed(job_.outputs / (submitted.id + "_3"), ".out"),
              HasSubstr("2-$(touch hostile_was_here)\n"));
  EXPECT_FALSE(fs::exists(kHostileMark));
  // A run has a state of its own; it cannot be submitted again alone.
  const JobStatus run = scheduler().status(submitted.id + "_3");
  EXPECT_EQ(run.id, submitted.id + "_3");
  EXPECT_EQ(run.state, JobState::kDone);
  EXPECT_EQ(run.name, job_.name);
  EXPECT_EQ(runs_of_sweep(submitted.folder / "").size(), 4U);
  EXPECT_EQ(runs_of_sweep(submitted.folder)[3], submitted.id + "_3");
  EXPECT_TRUE(runs_of_sweep(run.folder).empty());
  try {
    scheduler().resume(run.folder, {});
    FAIL() << "a run was submitted";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr(submitted.id + "_3 is a run of sweep " + submitted.id));
  }
}

TEST_F(LocalJobs, IdsAreFoundFromAnyFolder) {
  const SubmittedJob submitted = submit({"true"});
  EXPECT_EQ(find_job_folder(submitted.id, "/nowhere"), submitted.folder);
  EXPECT_EQ(LocalScheduler({.outputs = "/nowhere"}).status(submitted.id).state, JobState::kDone);
  EXPECT_EQ(LocalScheduler({.outputs = "/nowhere", .everywhere = true}).list({.ended = true}).size(), 1U);
  EXPECT_EQ(LocalScheduler({.outputs = job_.outputs, .everywhere = true}).list({.ended = true}).size(), 1U);
  EXPECT_TRUE(LocalScheduler({.outputs = "/nowhere"}).list({.ended = true}).empty());
  EXPECT_FALSE(find_job_folder("local-20260131-090500-0000", "/nowhere"));
  EXPECT_EQ(find_job_folder("last", "/nowhere"), submitted.folder);
  // A folder that is gone is forgotten.
  fs::remove_all(submitted.folder);
  EXPECT_FALSE(find_job_folder(submitted.id, "/nowhere"));
  submit({"true"});
  EXPECT_EQ(LocalScheduler({.outputs = "/nowhere", .everywhere = true}).list({.ended = true}).size(), 1U);
}

TEST_F(LocalJobs, AnotherSubmissionContinues) {
  const SubmittedJob first = submit({"false"});
  const SubmittedJob second = scheduler().resume(first.folder, {});
  EXPECT_NE(second.id, first.id);
  EXPECT_THROW(scheduler().resume("nowhere", {}), Error);
}

}  // namespace
}  // namespace nadi::inline jobs
