#include "nadi/process/process_keeper.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "nadi/base/format.h"
#include "nadi/process/child_process.h"
#include "nadi/process/process_tree.h"

namespace nadi::inline ground {
namespace {

// Prints the numbers of four processes: in the background, in a session of its own, as an orphan in a session
// of its own with an empty environment, and one that ignores what can be ignored.
constexpr const char* kTree = R"sh(
  sleep 60 & echo $!
  setsid sh -c 'echo $$; exec sleep 60' &
  (env -i setsid sh -c 'echo $$; exec sleep 60' &)
  sh -c 'trap "" TERM HUP INT; echo $$; exec sleep 60' &
)sh";

bool is_there(pid_t pid) {
  const auto info = process_info(pid);
  return info && !info->ended;
}

std::vector<pid_t> printed_pids(ChildProcess& child, std::size_t count) {
  std::vector<pid_t> pids;
  while (pids.size() < count && child.out().is_open()) {
    child.out().read([&](std::string_view line) { pids.push_back(std::stoi(std::string(line))); });
    poll(nullptr, 0, 1);
  }
  return pids;
}

// With a control group where one can be made, and without: that name cannot be one's.
class ProcessKeeper : public testing::TestWithParam<bool> {
 protected:
  ChildOptions kept(const std::string& script) {
    const std::string group = GetParam() ? format("nadi-test-{}-{}", getpid(), ++number_) : "no/such/group";
    return {.words = {"/bin/sh", "-c", script}, .kept = group};
  }

 private:
  int number_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Groups, ProcessKeeper, testing::Bool(), [](const auto& info) {
  return info.param ? "WithAControlGroup" : "ByTheirParents";
});

EndStatus end_of(ChildProcess& child) {
  while (!child.poll_end()) poll(nullptr, 0, 1);
  return *child.poll_end();
}

void expect_gone(const std::vector<pid_t>& pids) {
  ASSERT_EQ(pids.size(), 4U);
  for (const pid_t pid : pids) EXPECT_FALSE(is_there(pid)) << pid;
}

TEST_P(ProcessKeeper, EndsWhatAProgramLeavesBehindAndEndsLikeIt) {
  ChildProcess child(kept(std::string(kTree) + "sleep 0.3; exit 7"));
  const std::vector<pid_t> pids = printed_pids(child, 4);
  EXPECT_EQ(end_of(child), EndStatus{.exit_code = 7});
  expect_gone(pids);
  ChildProcess killed(kept("kill -SEGV $$"));
  EXPECT_EQ(end_of(killed), EndStatus{.signal = SIGSEGV});
}

TEST_P(ProcessKeeper, PassesOnSignalsAndKillsAllOnDemand) {
  ChildProcess asked(kept("trap 'exit 5' TERM; echo 1; sleep 60 & wait"));
  printed_pids(asked, 1);
  asked.send_signal(SIGTERM);
  EXPECT_EQ(end_of(asked), EndStatus{.exit_code = 5});
  ChildProcess child(kept(std::string(kTree) + "wait"));
  const std::vector<pid_t> pids = printed_pids(child, 4);
  child.end_all();
  EXPECT_EQ(end_of(child), EndStatus{.signal = SIGKILL});
  expect_gone(pids);
}

// Whoever started it is killed: the keeper gets word of it.
TEST_P(ProcessKeeper, EndsAllWhenItsParentIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    ChildProcess child(kept(std::string(kTree) + "wait"));
    std::string text;
    for (const pid_t pid : printed_pids(child, 4)) text += format("{} ", pid);
    text += "\n";
    if (write(ends[1], text.data(), text.size()) < 0) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  std::string text;
  for (char c = 0; read(ends[0], &c, 1) == 1 && c != '\n';) text += c;
  close(ends[0]);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  std::istringstream in(text);
  std::vector<pid_t> pids(std::istream_iterator<pid_t>(in), {});
  for (int i = 0; i < 2000 && std::ranges::any_of(pids, is_there); ++i) poll(nullptr, 0, 10);
  expect_gone(pids);
}

// Each process starts the next and ends: what is seen is gone when it is killed, unless that is fast.
TEST_P(ProcessKeeper, CatchesProcessesThatRunAway) {
  ChildProcess child(kept("run() { sleep 0.001; run & }; run & echo 1; wait; sleep 60"));
  printed_pids(child, 1);
  poll(nullptr, 0, 200);
  child.end_all();
  EXPECT_EQ(end_of(child), EndStatus{.signal = SIGKILL});
  EXPECT_TRUE(descendants_of(getpid()).empty());
}

}  // namespace
}  // namespace nadi::inline ground
