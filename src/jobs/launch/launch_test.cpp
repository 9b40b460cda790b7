// Jobs of small scripts under a real mpirun.
#include "nadi/launch/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/launch/node_agent.h"
#include "nadi/launch/rank_supervisor.h"
#include "nadi/process/find_program.h"
#include "nadi/process/process_tree.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;

// Within which everything is to be over when a rank has failed; what would go on by itself sleeps longer.
constexpr std::chrono::seconds kPromised{30};

struct Recorder : LaunchListener {
  void rank_printed(int rank, OutputKind kind, std::string_view line) override {
    (kind == OutputKind::kOut ? out : err)[rank].emplace_back(line);
    if (on_line) on_line(rank, line);
  }
  void mpirun_printed(std::string_view line) override { mpirun.emplace_back(line); }

  std::map<int, std::vector<std::string>> out, err;
  std::vector<std::string> mpirun;
  std::function<void(int, std::string_view)> on_line;
};

class Launch : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_program("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  }
  void TearDown() override { EXPECT_THAT(descendants_of(getpid()), IsEmpty()) << "processes are left"; }

  // Each rank runs the script with its number as $R.
  static LaunchRequest request(int ranks, const std::string& script) {
    LaunchRequest request = request_for_self(ranks, {});
    request.command = {"/bin/bash", "-c", "R=$OMPI_COMM_WORLD_RANK; " + script};
    request.patience.blame = milliseconds(100);
    request.patience.terminate = milliseconds(300);
    return request;
  }
  LaunchResult run(const LaunchRequest& what) {
    return launch(what, recorder_, [&] { return stop_; });
  }
  LaunchResult run(int ranks, const std::string& script) { return run(request(ranks, script)); }

  Recorder recorder_;
  bool stop_ = false;
};

pid_t pid_in(std::string_view line) {
  return std::stoi(std::string(line));
}

bool is_gone(pid_t pid) {
  return kill(pid, 0) == -1 && errno == ESRCH;
}

TEST_F(Launch, HandsOverWholeLinesOfEveryRank) {
  const LaunchResult result =
      run(3, "printf 'pa'; sleep 0.1; printf 'rt\\n\\nrank %s of 3' $R; echo \"to err $R\" >&2");
  EXPECT_EQ(result.exit_code(), 0);
  EXPECT_FALSE(result.failure);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(recorder_.out[rank], ElementsAre("part", "", "rank " + std::to_string(rank) + " of 3"));
    EXPECT_THAT(recorder_.err[rank], ElementsAre("to err " + std::to_string(rank)));
  }
  EXPECT_THAT(recorder_.mpirun, IsEmpty());
}

TEST_F(Launch, LosesNothingOfMuchOutput) {
  // 2 ranks x 20,000 lines of 100 letters: 4 MB.
  const LaunchResult result = run(2, "yes $(printf 'x%.0s' {1..100}) | head -20000");
  EXPECT_EQ(result.exit_code(), 0);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(recorder_.out[rank], SizeIs(20000));
    EXPECT_TRUE(std::ranges::all_of(recorder_.out[rank],
                                    [](const std::string& line) { return line == std::string(100, 'x'); }));
  }
}

TEST_F(Launch, NamesTheRankThatFails) {
  const LaunchResult result = run(3, "[ $R = 1 ] && { echo bad input >&2; exit 3; }; sleep 60");
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->rank, 1);
  EXPECT_EQ(result.failure->status, EndStatus{.exit_code = 3});
  EXPECT_THAT(result.failure->last_lines, ElementsAre("bad input"));
  EXPECT_EQ(result.failure->to_string(), "rank 1 failed with exit code 3");
  EXPECT_EQ(result.exit_code(), 3);
}

TEST_F(Launch, NamesTheRankThatIsKilled) {
  const LaunchResult result = run(3, "[ $R = 2 ] && { sleep 0.2; kill -9 $$; }; sleep 60");
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->to_string(), "rank 2 was ended by signal 9 (Killed)");
  EXPECT_EQ(result.exit_code(), 1);
}

TEST_F(Launch, NamesTheRankWhoseSupervisorIsKilled) {
  const LaunchResult result = run(3, "[ $R = 2 ] && { sleep 0.2; kill -9 $PPID; }; sleep 60");
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->to_string(), "rank 2 is gone, together with the process that watched it");
  EXPECT_EQ(result.exit_code(), 1);
}

TEST_F(Launch, WaitsForRanksThatTakeLonger) {
  const LaunchResult result = run(2, "[ $R = 1 ] && sleep 0.5; echo done");
  EXPECT_EQ(result.exit_code(), 0);
  EXPECT_THAT(recorder_.out[1], ElementsAre("done"));
}

TEST_F(Launch, EndsRanksThatIgnoreIt) {
  const auto start = steady_clock::now();
  const LaunchResult result = run(
      2, "trap '' TERM INT HUP; echo $$; [ $R = 0 ] && { sleep 0.3; exit 4; }; while :; do sleep 1; done");
  EXPECT_EQ(result.failure->to_string(), "rank 0 failed with exit code 4");
  EXPECT_TRUE(is_gone(pid_in(recorder_.out[1].at(0))));
  EXPECT_LT(steady_clock::now() - start, kPromised);
}

TEST_F(Launch, EndsWhatRanksHaveLeftBehind) {
  // In a session of its own, deaf, with its parent gone: once beside a rank that ends well, once a bad one.
  for (const int code : {0, 3}) {
    recorder_ = {};
    const LaunchResult result =
        run(2, "setsid bash -c 'trap \"\" TERM HUP; echo $$; while :; do sleep 1; done' & sleep 0.3; exit " +
                   std::to_string(code));
    EXPECT_EQ(result.exit_code(), code);
    for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(is_gone(pid_in(recorder_.out[rank].at(0))));
  }
}

TEST_F(Launch, AsksRanksToStopAndWaitsForThem) {
  recorder_.on_line = [&](int, std::string_view line) { stop_ = stop_ || line == "ready"; };
  const LaunchResult result =
      run(2,
          "trap 'sleep 0.7; echo saved; exit 130' TERM; [ $R = 0 ] && sleep 0.2 && echo ready; "
          "while :; do sleep 0.05; done");
  EXPECT_TRUE(result.stopped);
  EXPECT_FALSE(result.failure);
  EXPECT_EQ(result.exit_code(), 130);
  for (int rank = 0; rank < 2; ++rank) EXPECT_THAT(recorder_.out[rank], Contains("saved"));
}

// A rank that is stopped does not hear SIGTERM, and has nothing to save.
TEST_F(Launch, KillsRanksThatDoNotGetOnWhenTheyAreToStop) {
  int ready = 0;  // both, so that none is asked before it ignores that
  recorder_.on_line = [&](int, std::string_view line) { stop_ = stop_ || (line == "ready" && ++ready == 2); };
  const auto start = steady_clock::now();
  const LaunchResult result = run(2, "trap '' TERM; echo ready; kill -STOP $$");
  EXPECT_TRUE(result.stopped);
  ASSERT_TRUE(result.hung_at_stop);
  EXPECT_EQ(result.exit_code(), 130);
  EXPECT_THAT(result.hung_at_stop->lines, ElementsAre("ranks 0-1 are stopped by a signal (SIGSTOP)"));
  EXPECT_LT(steady_clock::now() - start, kPromised);
}

// Rank 0 computes for 3 s, which is more than the timeout: as long as one gets on, the others may wait.
TEST_F(Launch, EndsRanksOfWhichNoneGetsOn) {
  const TemporaryFolder folder;
  LaunchRequest what = request(
      2, "[ $R = 0 ] && for ((end = SECONDS + 3; SECONDS < end;)); do :; done; echo computed; sleep 60");
  what.comm_timeout = milliseconds(2500);
  what.collectives_folder = folder.path();
  const LaunchResult result = run(what);
  ASSERT_TRUE(result.failure && result.failure->hang);
  EXPECT_EQ(result.exit_code(), 1);
  EXPECT_THAT(recorder_.out[0], ElementsAre("computed"));
  EXPECT_THAT(result.failure->to_string(), testing::HasSubstr("no rank has made progress for "));
  EXPECT_THAT(result.failure->hang->lines, ElementsAre("ranks 0-1 show no sign of life"));
  EXPECT_EQ(result.failure->hang->file, folder.path() / "collectives.json");
}

TEST_F(Launch, StopsBeforeAnythingHasStarted) {
  stop_ = true;
  const auto start = steady_clock::now();
  EXPECT_EQ(run(2, "sleep 60").exit_code(), 130);
  EXPECT_LT(steady_clock::now() - start, kPromised);
}

TEST_F(Launch, NoticesThatMpirunIsKilled) {
  const LaunchResult result = run(2, "[ $R = 1 ] && { sleep 0.3; kill -9 $(ps -o ppid= $PPID); }; sleep 60");
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->to_string(), "mpirun ended with signal 9 (Killed)");
  EXPECT_EQ(result.exit_code(), 1);
}

TEST_F(Launch, ShowsWhatMpirunSaysWhenItStartsNothing) {
  LaunchRequest what = request(2, "true");
  what.hosts = "localhost:1";  // room for one
  const LaunchResult result = run(what);
  ASSERT_TRUE(result.failure);
  EXPECT_FALSE(result.failure->rank);
  EXPECT_EQ(result.exit_code(), 1);
  EXPECT_THAT(recorder_.mpirun, Contains(HasSubstr("not enough slots")));
}

TEST_F(Launch, GivesRanksTheirEnvironment) {
  LaunchRequest what = request(2, "echo $NADI_SLOW; echo threads $NADI_THREADS");
  what.environment = {{"NADI_SLOW", "1:2,0:1.5"}};
  EXPECT_EQ(run(what).exit_code(), 0);
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_THAT(recorder_.out[rank], ElementsAre("1:2,0:1.5", testing::StartsWith("threads ")));
}

TEST_F(Launch, EndsEverythingWhenTheListenerThrows) {
  struct Enough {};
  pid_t pid = 0;
  recorder_.on_line = [&](int, std::string_view line) {
    pid = pid_in(line);
    throw Enough{};
  };
  EXPECT_THROW(run(2, "[ $R = 0 ] && echo $$; sleep 60"), Enough);
  EXPECT_TRUE(is_gone(pid));
}

// Two "hosts", both this one: the program that should log in there just runs the command.
TEST_F(Launch, ReachesOtherHosts) {
  const TemporaryFolder folder;
  const fs::path agent = folder / "login";
  std::ofstream(agent)
      << "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nshift\nexec sh -c \"$*\"\n";
  fs::permissions(agent, fs::perms::owner_all);
  setenv("OMPI_MCA_plm_rsh_agent", agent.c_str(), 1);
  LaunchRequest what = request(2, "echo rank $R; [ $R = 1 ] && kill -9 $$; sleep 60");
  what.hosts = "nadi-host-a:1,nadi-host-b:1";
  // Two "hosts" on one machine now and then get into each other's way when Open MPI's daemons start: that
  // fails before there are ranks.
  constexpr int kAttempts = 5;
  LaunchResult result = run(what);
  for (int i = 1; i < kAttempts && result.failure && !result.failure->rank; ++i) result = run(what);
  unsetenv("OMPI_MCA_plm_rsh_agent");
  ASSERT_TRUE(result.failure);
  EXPECT_THAT(result.failure->to_string(), HasSubstr("rank 1 on "));
  EXPECT_THAT(result.failure->to_string(), HasSubstr("signal 9"));
}

TEST(LaunchWithoutMpirun, SaysWhatToInstall) {
  const std::string path = getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  Recorder recorder;
  try {
    launch(request_for_self(2, {"models"}), recorder, [] { return false; });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.hint(), HasSubstr("openmpi-bin"));
  }
  setenv("PATH", path.c_str(), 1);
}

TEST(LaunchInsideAJob, IsRefused) {
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  Recorder recorder;
  EXPECT_THROW(launch(request_for_self(2, {"models"}), recorder, [] { return false; }), Error);
  unsetenv("OMPI_COMM_WORLD_RANK");
}

TEST(Supervisor, IsNotForUsers) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(supervise_rank({"/bin/true"}), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: 'launch-rank' is what 'nadi launch' starts under mpirun\n");
}

}  // namespace
}  // namespace nadi::inline jobs

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == nadi::kSupervisorWord) return nadi::supervise_rank({argv + 2, argv + argc});
  if (argc > 1 && argv[1] == nadi::kAgentWord) return nadi::reach_node({argv + 2, argv + argc});
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
