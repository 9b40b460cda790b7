#include "nadi/process/process_tree.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "nadi/process/child_process.h"

namespace nadi::inline ground {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{5000};

bool is_gone(pid_t pid) {
  return kill(pid, 0) == -1 && errno == ESRCH;
}

// The number that the child prints in its first line.
pid_t printed_pid(ChildProcess& child) {
  pid_t pid = 0;
  while (pid == 0 && child.out().is_open()) {
    child.out().read([&](std::string_view line) { pid = std::stoi(std::string(line)); });
    poll(nullptr, 0, 1);
  }
  return pid;
}

bool contains(const std::vector<ProcessInfo>& processes, pid_t pid) {
  return std::ranges::find(processes, pid, &ProcessInfo::pid) != processes.end();
}

TEST(ProcessTree, FindsWhatWasStartedBelow) {
  ChildProcess child({.words = {"/bin/sh", "-c", "sleep 60 & echo $!; wait"}, .new_session = true});
  const pid_t grandchild = printed_pid(child);
  const std::vector<ProcessInfo> found = descendants_of(getpid());
  EXPECT_TRUE(contains(found, child.pid()));
  ASSERT_TRUE(contains(found, grandchild));
  const ProcessInfo info = *std::ranges::find(found, grandchild, &ProcessInfo::pid);
  EXPECT_EQ(info.parent, child.pid());
  EXPECT_EQ(info.session, child.pid());
  EXPECT_FALSE(info.ended);
  EXPECT_FALSE(contains(found, getpid()));
  EXPECT_FALSE(contains(descendants_of(grandchild), child.pid()));
  kill(grandchild, SIGKILL);
}

// The parent ends at once; the orphan has a session of its own and ignores what can be ignored.
TEST(ProcessTree, EndsOrphansThatHideAndNothingElse) {
  const Adoption adoption;
  ChildProcess other({.words = {"/bin/sleep", "60"}});
  ChildProcess child({.words = {"/bin/sh", "-c",
                                "setsid sh -c 'trap \"\" TERM HUP INT; echo $$; exec sleep 60' >&1 & "
                                "sleep 0.2"},
                      .environment = {{"NADI_TEST_MARK", "1"}}});
  const pid_t orphan = printed_pid(child);
  ASSERT_NE(orphan, 0);
  while (!child.poll_end()) poll(nullptr, 0, 1);
  EXPECT_FALSE(is_gone(orphan));
  EXPECT_TRUE(contains(descendants_of(getpid()), orphan)) << "adopted";
  const auto ours = [](const ProcessInfo& process) { return started_with(process.pid, "NADI_TEST_MARK=1"); };
  EXPECT_EQ(end_descendants(ours, kPatience), 0u);
  EXPECT_TRUE(is_gone(orphan));
  EXPECT_FALSE(other.poll_end()) << "not ours, left alone";
}

TEST(ProcessTree, KnowsTheEnvironmentOfAProcess) {
  ChildProcess child(
      {.words = {"/bin/sh", "-c", "echo 1; exec sleep 60"}, .environment = {{"NADI_TEST_MARK", "abc"}}});
  printed_pid(child);
  EXPECT_TRUE(started_with(child.pid(), "NADI_TEST_MARK=abc"));
  EXPECT_FALSE(started_with(child.pid(), "NADI_TEST_MARK=ab"));
  EXPECT_FALSE(started_with(child.pid(), "TEST_MARK=abc"));
  EXPECT_FALSE(started_with(1 << 30, "NADI_TEST_MARK=abc"));
}

}  // namespace
}  // namespace nadi::inline ground
