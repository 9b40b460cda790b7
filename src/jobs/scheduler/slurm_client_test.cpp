#include "nadi/scheduler/slurm_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "nadi/base/error.h"

namespace nadi::inline jobs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Answers in turn, and remembers what it was asked.
class SlurmThatAnswers {
 public:
  SlurmClient client() {
    return SlurmClient(
        [this](const std::vector<std::string>& words, const Environment&) -> std::optional<ProgramRun> {
          asked.push_back(words);
          if (answers.empty()) return std::nullopt;
          ProgramRun run = answers.front();
          answers.pop_front();
          return run;
        },
        [] { return "|"; });
  }

  std::deque<ProgramRun> answers = {};
  std::vector<std::vector<std::string>> asked = {};
};

ProgramRun said(std::string out) {
  return {.out = std::move(out)};
}
ProgramRun failed(std::string err) {
  return {.end = {.exit_code = 1}, .err = std::move(err)};
}

std::string error_of(const std::function<void()>& call, ErrorKind kind) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "no error";
}

TEST(SlurmClient, SubmitsAFileWhoseNameMayBeAnything) {
  SlurmThatAnswers slurm{.answers = {said("12\n"), said("13;cluster\n")}};
  SlurmClient client = slurm.client();
  EXPECT_EQ(client.submit("--wrap=x").id, "12");
  EXPECT_THAT(slurm.asked.front(), ElementsAre("sbatch", "--parsable", "--hold", "--", "--wrap=x"));
  EXPECT_EQ(client.submit("a").id, "13");
}

TEST(SlurmClient, SaysWhatSbatchSaid) {
  SlurmThatAnswers slurm{
      .answers = {failed("sbatch: error: invalid partition specified: gpu\nsbatch: error: Batch job "
                         "submission failed: Invalid partition name specified\n"),
                  said("Submitted batch job 12\n")}};
  SlurmClient client = slurm.client();
  const std::string error = error_of([&] { client.submit("a"); }, ErrorKind::kEnvironment);
  EXPECT_THAT(error, HasSubstr("sbatch failed with exit code 1"));
  EXPECT_THAT(error, HasSubstr("Invalid partition name specified"));
  EXPECT_THAT(error_of([&] { client.submit("a"); }, ErrorKind::kEnvironment),
              HasSubstr("did not print the id of a job: Submitted batch job 12"));
}

TEST(SlurmClient, MissingAndSilentPrograms) {
  SlurmThatAnswers slurm{.answers = {{.timed_out = true}}};
  SlurmClient client = slurm.client();
  EXPECT_THAT(error_of([&] { client.queue({}); }, ErrorKind::kEnvironment),
              HasSubstr("squeue did not answer within 60 s"));
  EXPECT_THAT(error_of([&] { client.queue({}); }, ErrorKind::kEnvironment),
              HasSubstr("there is no squeue on PATH"));
}

TEST(SlurmClient, ForgottenIdsHaveNoRow) {
  SlurmThatAnswers slurm{.answers = {failed("slurm_load_jobs error: Invalid job id specified\n"),
                                     failed("slurm_load_jobs error: Invalid job id specified\n"), said("")}};
  SlurmClient client = slurm.client();
  EXPECT_THAT(client.queue({.ids = {"99"}}).jobs, IsEmpty());
  EXPECT_FALSE(client.details("99", "x"));
  EXPECT_THAT(client.accounts({.ids = {"99", "98"}})->jobs, IsEmpty());
  EXPECT_THAT(slurm.asked.back(), Contains("--jobs=99,98"));
}

// The words of 20.11 to 24.05, by their sources' messages.
TEST(SlurmClient, SlurmWithoutAccounts) {
  SlurmThatAnswers slurm{
      .answers = {failed("Slurm accounting storage is disabled\n"),
                  failed("sacct: error: Problem talking to the database: Connection refused\n"),
                  failed("sacct: error: something else\n")}};
  SlurmClient client = slurm.client();
  EXPECT_FALSE(client.accounts({}));
  EXPECT_FALSE(client.accounts({}));
  EXPECT_THAT(error_of([&] { client.accounts({}); }, ErrorKind::kEnvironment), HasSubstr("something else"));
}

TEST(ProgramRun, TakesOutputAndEnd) {
  const ProgramRun run =
      run_program({.words = {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}}, std::chrono::seconds(20));
  EXPECT_EQ(run.out, "out\n");
  EXPECT_EQ(run.err, "err\n");
  EXPECT_EQ(run.end.exit_code, 3);
  EXPECT_FALSE(run.good());
}

TEST(ProgramRun, EndsWhatTakesTooLong) {
  const auto begin = std::chrono::steady_clock::now();
  const ProgramRun run =
      run_program({.words = {"/bin/sh", "-c", "echo begun; exec sleep 60"}}, std::chrono::milliseconds(300));
  EXPECT_TRUE(run.timed_out);
  EXPECT_EQ(run.out, "begun\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(ProgramRun, DoesNotWaitForWhatAProgramLeftBehind) {
  const ProgramRun run =
      run_program({.words = {"/bin/sh", "-c", "sleep 3 & echo done"}}, std::chrono::seconds(30));
  EXPECT_TRUE(run.good());
  EXPECT_EQ(run.out, "done\n");
}

TEST(SlurmClient, NoAnswerIsOneSentenceWithAHint) {
  SlurmThatAnswers slurm{
      .answers = {
          failed("squeue: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\nsqueue: error: "
                 "fetch_config: DNS SRV lookup failed\nsqueue: fatal: Could not establish a configuration "
                 "source\n")}};
  SlurmClient client = slurm.client();
  try {
    client.queue({});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "Slurm does not answer squeue: Could not establish a configuration source");
    EXPECT_THAT(error.hint(), HasSubstr("is slurmctld running ('scontrol ping')"));
  }
}

}  // namespace
}  // namespace nadi::inline jobs
