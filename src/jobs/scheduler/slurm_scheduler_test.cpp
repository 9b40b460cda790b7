// Against answers as Slurm 22.05.8 gave them; tests/slurm/slurm_test.sh asks the real one.
#include "nadi/scheduler/slurm_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kUnknownId = "slurm_load_jobs error: Invalid job id specified\n";

// Answers by program, whatever the arguments; a program without an answer says that it knows no such job.
struct AnsweringSlurm {
  std::map<std::string, std::string> out = {};
  std::vector<std::string> asked = {};
  std::deque<std::string> ids = {};         // that sbatch gives; then it fails
  std::vector<std::string> submitted = {};  // scripts
  bool refuses_release = false;

  SlurmScheduler scheduler(const std::filesystem::path& outputs) {
    const auto run = [this](const std::vector<std::string>& words,
                            const Environment&) -> std::optional<ProgramRun> {
      std::string name = words[0];
      if (name == "scontrol") name += " " + words[words.size() - 2];
      asked.push_back(name);
      if (name == "sbatch") {
        submitted.push_back(read_text(words.back()));
        if (ids.empty()) return ProgramRun{.end = {.exit_code = 1}, .err = "sbatch: error: no\n"};
        const std::string id = ids.front();
        ids.pop_front();
        return ProgramRun{.out = id + "\n"};
      }
      if (name == "scontrol release" && !refuses_release) return ProgramRun{};
      const auto found = out.find(name);
      if (found == out.end()) return ProgramRun{.end = {.exit_code = 1}, .err = std::string(kUnknownId)};
      return ProgramRun{.out = found->second};
    };
    return SlurmScheduler(SlurmClient(run, [] { return "|"; }), {.outputs = outputs});
  }
};

std::string row(std::string_view id, std::string_view state, std::string_view nodes) {
  return format("{}|{}|{}|None|0:02|10:00|slow|root|{}|1794858702|1794858702|1794859302|name|{}\n", id, id,
                state, nodes, id);
}
std::string account(std::string_view id, std::string_view state, std::string_view nodes) {
  return format("{}|{}|{}|0:0|44|10|slow|root|{}|1794858702|1794858702|1794858746|name|{}\n", id, id, state,
                nodes, id);
}

TEST(SlurmScheduler, ListsManyJobsWithTwoQuestions) {
  AnsweringSlurm slurm;
  for (int i = 1; i <= 200; ++i) {
    if (i > 100) slurm.out["squeue"] += row(std::to_string(i), "RUNNING", "n1");
    slurm.out["sacct"] += account(std::to_string(i), i > 100 ? "RUNNING" : "COMPLETED", "n1");
  }
  SlurmScheduler scheduler = slurm.scheduler("none");
  const std::vector<JobStatus> jobs = scheduler.list({.ended = true});
  ASSERT_THAT(jobs, SizeIs(200));
  EXPECT_EQ(jobs[9].id, "10");  // by number, not by text
  EXPECT_EQ(jobs[9].state, JobState::kDone);
  EXPECT_EQ(jobs[199].state, JobState::kRunning);
  EXPECT_THAT(slurm.asked, ElementsAre("squeue", "sacct"));
  EXPECT_THAT(scheduler.list({}), SizeIs(100));
}

TEST(SlurmScheduler, CountsRestartsOfAJobThatSlurmHasForgotten) {
  AnsweringSlurm slurm;
  slurm.out["sacct"] =
      account("6", "NODE_FAIL", "n3") + account("6", "REQUEUED", "n4") + account("6", "COMPLETED", "n4");
  slurm.out["scontrol node"] = "NodeName=n3 State=IDLE\n";
  const JobStatus job = slurm.scheduler("none").status("6");
  EXPECT_EQ(job.state, JobState::kDone);
  EXPECT_EQ(job.restarts, 2);
  EXPECT_THAT(job.failed_nodes, IsEmpty());  // it is back, and nobody said that it failed
}

// As Slurm 22.05.8 answered within a second of the end of a heterogeneous job: slurmdbd had heard of the end
// of its first component before it had heard of the job.
TEST(SlurmScheduler, AccountsThatLagBehindAreMatchedByNumber) {
  constexpr std::string_view kRow =
      "{}|{}|{}|{}|0:02|10:00|slow|root|{}|1794858702|1794858702|1794859302|{}|{}\n";
  AnsweringSlurm slurm;
  slurm.out["squeue"] = format(fmt::runtime(kRow), 7, "7+0", "COMPLETED", "None", "n1", "mixed", 7) +
                        format(fmt::runtime(kRow), 8, "7+1", "COMPLETED", "None", "n[3-4]", "mixed", 8);
  slurm.out["sacct"] = "7|7|COMPLETED|0:0|0||||None assigned|1794858702|1794858702|1794858703|allocation|7\n";
  SlurmScheduler scheduler = slurm.scheduler("none");
  const JobStatus job = scheduler.status("7");
  EXPECT_EQ(job.name, "mixed");
  EXPECT_EQ(job.state, JobState::kDone);
  EXPECT_THAT(job.nodes, ElementsAre("n1", "n3", "n4"));
  ASSERT_THAT(job.components, SizeIs(2));
  EXPECT_EQ(job.components[0].id, "7+0");
  EXPECT_EQ(job.components[1].id, "7+1");
  EXPECT_THAT(scheduler.notes(), IsEmpty());
  EXPECT_THAT(scheduler.list({.ended = true}), SizeIs(1));
  // An array of which accounts still have the row of all its runs.
  slurm.out["squeue"] = format(fmt::runtime(kRow), 20, "20_1", "RUNNING", "None", "n3", "sweep", 20) +
                        format(fmt::runtime(kRow), 21, "20_0", "RUNNING", "None", "n3", "sweep", 21);
  slurm.out["sacct"] =
      "20|20_[0-1]|PENDING|0:0|0|10|slow|root|None assigned|1794858702|Unknown|Unknown|sweep|20\n";
  const JobStatus sweep = scheduler.status("20");
  EXPECT_EQ(sweep.state, JobState::kRunning);
  ASSERT_THAT(sweep.components, SizeIs(2));
  EXPECT_EQ(sweep.components[0].id, "20_0");
  EXPECT_THAT(sweep.nodes, ElementsAre("n3")) << "of both, once";
}

TEST(SlurmScheduler, SaysWhatIsMissingInTheAnswer) {
  AnsweringSlurm slurm;
  const TemporaryFolder outputs;
  JobFile job{
      .name = "n", .run = {.words = {"true"}}, .groups = {JobNodes{}, JobNodes{}}, .outputs = outputs.path()};
  slurm.ids = {"7"};
  SlurmScheduler scheduler = slurm.scheduler(outputs);
  scheduler.submit(job, {});
  slurm.out["sacct"] = account("7", "COMPLETED", "n1");
  scheduler.status("7");
  EXPECT_THAT(scheduler.notes(), ElementsAre(HasSubstr("tells of 1 of the 2 parts of job 7")));
  slurm.out["squeue"] = row("9", "RUNNING", "n1") + "\x1b[31m|odd\n5|5|half\n";
  EXPECT_THAT(scheduler.list({}), SizeIs(1));
  EXPECT_THAT(scheduler.notes(),
              ElementsAre("2 rows of squeue could not be read and are left out; the first: '\\x1b[31m|odd'"));
  slurm.out["squeue"] = row("9", "RUNNING", "n1");
  scheduler.list({});
  EXPECT_THAT(scheduler.notes(), IsEmpty());
  // What cannot be read at all is no job that Slurm does not know.
  slurm.out["squeue"] = "odd\n";
  slurm.out["sacct"] = "";
  try {
    scheduler.status("9");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.what(),
                HasSubstr("1 row of squeue could not be read and is left out; the first: 'odd'"));
  }
}

TEST(SlurmScheduler, NamesTheNodeThatIsDown) {
  AnsweringSlurm slurm;
  slurm.out["squeue"] = row("7", "NODE_FAIL", "n[3-4]");
  slurm.out["sacct"] = account("7", "NODE_FAIL", "n[3-4]");
  slurm.out["scontrol node"] = "NodeName=n3 State=IDLE\nNodeName=n4 State=DOWN+NOT_RESPONDING\n";
  SlurmScheduler scheduler = slurm.scheduler("none");
  EXPECT_THAT(scheduler.status("7").failed_nodes, ElementsAre("n4"));
}

TEST(SlurmScheduler, NamesTheNodeThatSrunAndTheScriptNamed) {
  AnsweringSlurm slurm;
  slurm.out["sacct"] = account("7", "NODE_FAIL", "n[3-4]");
  const TemporaryFolder outputs;
  write_text(outputs / "7/slurm.txt", "start\nsrun: error: Node failure on n4\n");
  write_text(outputs / "7/failed_nodes.txt", "n4\nn3\n../evil x\n");
  EXPECT_THAT(slurm.scheduler(outputs).status("7").failed_nodes, ElementsAre("n4", "n3"));
}

TEST(SlurmScheduler, RefusesIdsThatAreNone) {
  AnsweringSlurm slurm;
  SlurmScheduler scheduler = slurm.scheduler("none");
  for (const char* const id : {"", "x", "1; touch y", "--all", "12_[1-2]"}) {
    EXPECT_THROW(scheduler.status(id), Error) << id;
    EXPECT_THROW(scheduler.cancel(id), Error) << id;
  }
  EXPECT_THAT(slurm.asked, IsEmpty());
  slurm.out["sacct"] = "";
  try {
    scheduler.status("99");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("Slurm knows no job 99"));
  }
}

TEST(SlurmScheduler, DoesNotCancelWhatHasEnded) {
  AnsweringSlurm slurm;
  slurm.out["sacct"] = account("5", "COMPLETED", "n1");
  SlurmScheduler scheduler = slurm.scheduler("none");
  EXPECT_THROW(scheduler.cancel("5"), Error);
  EXPECT_THAT(slurm.asked, ElementsAre("squeue", "sacct"));
}

TEST(SlurmScheduler, SubmitsAndResumesWithoutNodesThatFailed) {
  AnsweringSlurm slurm;
  const TemporaryFolder outputs;
  JobFile job{.name = "n", .run = {.words = {"true"}}, .outputs = outputs.path()};
  slurm.ids = {"7", "8"};
  SlurmScheduler scheduler = slurm.scheduler(outputs);
  const SubmittedJob first = scheduler.submit(job, {});
  EXPECT_EQ(first.id, "7");
  EXPECT_EQ(read_submitted_job(outputs / "7")->id, "7");
  slurm.out["sacct"] = account("7", "NODE_FAIL", "n[3-4]");
  slurm.out["scontrol node"] = "NodeName=n3 State=IDLE\nNodeName=n4 State=DOWN\n";
  EXPECT_EQ(scheduler.resume(outputs / "7", {.exclude_failed_nodes = true, .exclude = {"n9"}}).id, "8");
  ASSERT_THAT(slurm.submitted, SizeIs(2));
  EXPECT_THAT(slurm.submitted[1], HasSubstr("#SBATCH --exclude=n9,n4\n"));
  // Again: the new folder says what was left out.
  EXPECT_THAT(read_job_of(outputs / "8")->groups[0].exclude, ElementsAre("n9", "n4"));
}

TEST(SlurmScheduler, JobsThatBelongTogetherAreAllCancelledWhenOneIsRefused) {
  AnsweringSlurm slurm;
  const TemporaryFolder outputs;
  JobFile job{.name = "n",
              .run = {.words = {"true"}},
              .groups = {JobNodes{}, JobNodes{}},
              .mixing = JobMixing::kJobs,
              .outputs = outputs.path()};
  slurm.ids = {"20", "21"};
  slurm.out["scancel"] = "";
  SlurmScheduler scheduler = slurm.scheduler(outputs);
  EXPECT_THAT(scheduler.submit(job, {}).component_ids, ElementsAre("20", "21"));
  EXPECT_THAT(slurm.submitted[1], HasSubstr("#SBATCH --dependency=after:20\n"));
  slurm.ids = {"22"};
  slurm.asked.clear();
  EXPECT_THROW(scheduler.submit(job, {}), Error);
  EXPECT_THAT(slurm.asked, ElementsAre("sbatch", "sbatch", "scancel"));
}

std::string failure_of(SlurmScheduler& scheduler, const JobFile& job, const SubmitOptions& options = {}) {
  try {
    scheduler.submit(job, options);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

// Nothing but what was there before.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

TEST(SlurmScheduler, AJobBeginsWhenAllIsWritten) {
  AnsweringSlurm slurm;
  const TemporaryFolder outputs;
  const JobFile job{.name = "n", .run = {.words = {"true"}}, .outputs = outputs.path()};
  slurm.ids = {"7"};
  SlurmScheduler scheduler = slurm.scheduler(outputs);
  const auto written = [&](const SubmittedJob& submitted) {
    EXPECT_THAT(slurm.asked, ElementsAre("sbatch")) << "held";
    EXPECT_EQ(read_submitted_job(outputs / "7")->id, submitted.id);
  };
  scheduler.submit(job, {.written = written});
  EXPECT_THAT(slurm.asked, ElementsAre("sbatch", "scontrol release"));
  EXPECT_THAT(names_in(outputs), ElementsAre("7"));
}

TEST(SlurmScheduler, ASubmissionThatFailsLeavesNothing) {
  AnsweringSlurm slurm;
  const TemporaryFolder outputs;
  JobFile job{.name = "n", .run = {.words = {"true"}}, .outputs = outputs.path()};
  slurm.out["scancel"] = "";
  SlurmScheduler scheduler = slurm.scheduler(outputs);
  // Nowhere to write: Slurm hears nothing of it.
  job.outputs = "/proc/nowhere";
  EXPECT_THAT(failure_of(scheduler, job), HasSubstr("cannot make a folder in /proc/nowhere: "));
  EXPECT_THAT(slurm.asked, IsEmpty());
  job.outputs = outputs.path();
  // Somebody who was to be told cannot be.
  slurm.ids = {"7"};
  const auto refuse = [](const SubmittedJob&) { throw environment_error("no space left"); };
  EXPECT_EQ(failure_of(scheduler, job, {.written = refuse}), "no space left; job 7 is cancelled");
  EXPECT_THAT(slurm.asked, ElementsAre("sbatch", "scancel"));
  EXPECT_THAT(names_in(outputs), IsEmpty());
  // Slurm does not let it begin.
  slurm.ids = {"8"};
  slurm.refuses_release = true;
  EXPECT_THAT(failure_of(scheduler, job), HasSubstr("; job 8 is cancelled"));
  EXPECT_THAT(names_in(outputs), IsEmpty());
  // Nor does it take it back.
  slurm.ids = {"9"};
  slurm.out.erase("scancel");
  EXPECT_THAT(failure_of(scheduler, job), HasSubstr("; job 9 is held and could not be cancelled (scancel "));
}

// Slurm counts anew when its state is lost; what was in the folder stays.
TEST(SlurmScheduler, AnIdMayComeASecondTime) {
  AnsweringSlurm slurm;
  const TemporaryFolder outputs;
  write_text(outputs / "7/n1.out", "old\n");
  slurm.ids = {"7"};
  slurm.scheduler(outputs).submit({.name = "n", .run = {.words = {"true"}}, .outputs = outputs.path()}, {});
  EXPECT_EQ(read_submitted_job(outputs / "7")->id, "7");
  EXPECT_EQ(read_text(outputs / "7/n1.out"), "old\n");
  EXPECT_THAT(names_in(outputs), ElementsAre("7"));
}

}  // namespace
}  // namespace nadi::inline jobs
