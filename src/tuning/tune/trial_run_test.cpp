#include "nadi/tune/trial_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/process/child_process.h"
#include "nadi/process/process_tree.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline tuning {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class TrialRunTest : public testing::Test {
 protected:
  TrialRunTest() {
    space_.add(parameter_of_text("n=1..9"));
    space_.add(parameter_of_text("env.MODE=slow,fast"));
    space_.check();
  }

  TrialSettings settings(const std::string& script, const std::string& metric = "cost ([0-9.]+)") {
    return {.command = {.words = {"sh", "-c", script, "sh", "{{n}}"}}, .metrics = {metric_of_text(metric)}};
  }
  TrialResult run(const TrialSettings& settings, const TrialHooks& hooks = {}) {
    const SpacePoints points(space_);
    return run_trial(settings,
                     {.space = &space_,
                      .setting = points.setting_of(std::vector<double>{4, 1}),
                      .place = {.number = 3, .folder = folder_.path() / "3"},
                      .log = folder_.path() / "3.log"},
                     hooks);
  }
  std::string log() { return read_text(folder_.path() / "3.log"); }

  const Adoption adoption_;
  TemporaryFolder folder_;
  TuneSpace space_;
};

TEST_F(TrialRunTest, ReadsTheMetricAndKeepsALog) {
  const TrialResult result = run(settings("echo \"cost $1.5\"; echo $MODE >&2"));
  EXPECT_EQ(result.outcome, TrialEnd::kComplete) << result.reason;
  EXPECT_THAT(result.values, ElementsAre(4.5));
  EXPECT_THAT(log(),
              AllOf(StartsWith("# trial 3\n# command: sh -c "), HasSubstr("# environment: MODE=fast\n"),
                    HasSubstr("\ncost 4.5\n"), HasSubstr("\nfast\n"), HasSubstr("# exit code 0 after ")));
}

TEST_F(TrialRunTest, FailuresAreResultsWithReasons) {
  const TrialResult crash = run(settings("echo cost 1; echo 'no such layer' >&2; exit 3"));
  EXPECT_EQ(crash.outcome, TrialEnd::kCrashed);
  EXPECT_EQ(crash.reason, "exit code 3: no such layer");
  const TrialResult memory =
      run(settings("echo 'RuntimeError: CUDA out of memory. Tried' >&2; echo bye >&2; exit 1"));
  EXPECT_EQ(memory.outcome, TrialEnd::kOutOfMemory);
  EXPECT_EQ(memory.reason, "out of memory: exit code 1: RuntimeError: CUDA out of memory. Tried");
  const TrialResult killed = run(settings("kill -9 $$"));
  EXPECT_EQ(killed.outcome, TrialEnd::kCrashed);
  EXPECT_THAT(killed.reason, HasSubstr("signal 9"));
  const TrialResult silent = run(settings("echo hello"));
  EXPECT_EQ(silent.outcome, TrialEnd::kNoMetric);
  EXPECT_EQ(silent.reason, "no metric: no line of the output matches 'cost ([0-9.]+)'");
  TrialSettings missing = settings("");
  missing.command.words = {"/no/such/program", "{{n}}"};
  EXPECT_EQ(run(missing).outcome, TrialEnd::kNotStarted);
}

// Files that are there, may be executed, and cannot be.
TEST_F(TrialRunTest, AProgramThatTheSystemCannotExecuteHasNotStarted) {
  TrialSettings broken = settings("");
  for (const auto& [text, why] :
       {std::pair{"#!/no/such/interpreter\n", "the interpreter that it names is not there"},
        std::pair{"echo 1\n", "neither a program nor a script that begins with '#!'"}}) {
    const std::filesystem::path script = folder_.path() / "script";
    write_text(script, text);
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    broken.command.words = {script.string(), "{{n}}"};
    const TrialResult result = run(broken);
    EXPECT_EQ(result.outcome, TrialEnd::kNotStarted);
    EXPECT_EQ(result.reason, format("cannot run '{}': {}", script.string(), why));
  }
}

TEST_F(TrialRunTest, ExitCodesMayBeTheMetric) {
  const TrialResult result = run(settings("exit 7", "exit-code"));
  EXPECT_EQ(result.outcome, TrialEnd::kComplete);
  EXPECT_THAT(result.values, ElementsAre(7));
}

TEST_F(TrialRunTest, RuntimeIsTheTimeOfTheCommand) {
  const TrialResult result = run(settings("sleep 0.2", "runtime"));
  ASSERT_EQ(result.values.size(), 1u);
  EXPECT_GE(result.values[0], 0.2);
  EXPECT_LT(result.values[0], 10);
}

TEST_F(TrialRunTest, HangingTrialsAreEndedWithAllThatTheyStarted) {
  TrialSettings hanging = settings("trap '' TERM; setsid sleep 300 & echo $!; sleep 300; sleep 300");
  hanging.limits.timeout = milliseconds(300);
  hanging.limits.grace = milliseconds(200);
  const auto begin = std::chrono::steady_clock::now();
  const TrialResult result = run(hanging);
  EXPECT_EQ(result.outcome, TrialEnd::kTimedOut);
  EXPECT_EQ(result.reason, "took longer than 0.3 s");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_THAT(log(), HasSubstr("# ended by force after "));
  // The one that began a session of its own, too.
  for (const ProcessInfo& process : descendants_of(getpid())) EXPECT_TRUE(process.ended) << process.pid;
}

TEST_F(TrialRunTest, WhatAnEndedTrialLeavesBehindIsEnded) {
  const TrialResult result = run(settings("setsid sleep 300 & echo cost 2"));
  EXPECT_EQ(result.outcome, TrialEnd::kComplete) << result.reason;
  for (const ProcessInfo& process : descendants_of(getpid())) EXPECT_TRUE(process.ended) << process.pid;
}

// One of its processes hides in a session of its own, as an orphan with an empty environment.
constexpr const char* kHiding =
    "(env -i setsid sh -c 'echo $$; exec sleep 300' &); setsid sh -c 'echo $$; exec sleep 300' & "
    "sleep 300 & echo $!; wait";

bool is_there(pid_t pid) {
  const auto info = process_info(pid);
  return info && !info->ended;
}

void wait_until_gone(const std::vector<pid_t>& pids) {
  for (int i = 0; i < 2000 && std::ranges::any_of(pids, is_there); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  for (const pid_t pid : pids) EXPECT_FALSE(is_there(pid)) << pid;
}

std::vector<pid_t> pids_in(const std::filesystem::path& log) {
  std::vector<pid_t> pids;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line.find_first_not_of("0123456789") == std::string::npos && !file.eof())
      pids.push_back(std::stoi(line));
  return pids;
}

TEST_F(TrialRunTest, ATunerThatIsKilledTakesItsTrialWithIt) {
  const pid_t tuner = fork();
  if (tuner == 0) {
    run(settings(kHiding));
    _exit(0);
  }
  std::vector<pid_t> pids;
  while ((pids = pids_in(folder_.path() / "3.log")).size() < 3) std::this_thread::sleep_for(milliseconds(10));
  kill(tuner, SIGKILL);
  waitpid(tuner, nullptr, 0);
  wait_until_gone(pids);
}

TEST_F(TrialRunTest, WhatIsLeftOfTunersThatAreGoneIsEnded) {
  const auto self = process_info(getpid());
  ChildProcess orphan({.words = {"/bin/sleep", "300"}, .environment = {{"NADI_TRIAL", "1-1.0"}}});
  ChildProcess other(
      {.words = {"/bin/sleep", "300"},
       .environment = {{"NADI_TRIAL", std::to_string(getpid()) + "-" + std::to_string(self->born) + ".99"}}});
  while (!started_with(orphan.pid(), "NADI_TRIAL=1-1.0") || !started_with_value(other.pid(), "NADI_TRIAL"))
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_GE(end_orphaned_trials(), 1U);
  EXPECT_FALSE(is_there(orphan.pid()));
  EXPECT_TRUE(is_there(other.pid()));
}

TEST_F(TrialRunTest, IntermediateValuesMayEndIt) {
  std::vector<double> seen;
  const TrialResult result =
      run(settings("for i in 1 2 3; do echo cost $i; sleep 0.1; done; sleep 300"),
          {.prune = [&](const auto& fresh) -> std::optional<std::string> {
            for (const auto& each : fresh) seen.push_back(each.value);
            return seen.size() >= 3 ? std::optional<std::string>("hopeless") : std::nullopt;
          }});
  EXPECT_EQ(result.outcome, TrialEnd::kPruned);
  EXPECT_EQ(result.reason, "hopeless");
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  EXPECT_LT(result.seconds, 60);
}

TEST_F(TrialRunTest, RepetitionsGiveTheMedianAndTheNoise) {
  TrialSettings repeated = settings("echo cost $2");
  repeated.command.words.push_back("1{{repeat}}");  // 10, 11, 12
  repeated.repeat = 3;
  const TrialResult result = run(repeated);
  EXPECT_THAT(result.values, ElementsAre(11));
  EXPECT_EQ(result.repetitions.size(), 3u);
  // Deviations -1, 0, 1 means variance 2 / 2 = 1, so 1 of 11.
  EXPECT_NEAR(result.noise.value_or(0), 1.0 / 11, 1e-12);
  EXPECT_THAT(log(), HasSubstr("# trial 3, repetition 3 of 3"));
}

TEST_F(TrialRunTest, TemplatesAreFilledIn) {
  TrialSettings with = settings("cat $2");
  with.command.words.push_back("{{folder}}/conf.txt");
  with.command.templates = {{.path = "x/conf.txt", .text = "cost {{n}}00\n"}};
  const TrialResult result = run(with);
  EXPECT_THAT(result.values, ElementsAre(400)) << result.reason;
}

TEST_F(TrialRunTest, ALogThatCannotBeWrittenIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const SpacePoints points(space_);
  EXPECT_THROW(
      run_trial(
          settings("echo cost 1"),
          {.space = &space_, .setting = points.setting_of(std::vector<double>{4, 1}), .log = "/dev/full"},
          {}),
      Error);
}

}  // namespace
}  // namespace nadi::inline tuning
