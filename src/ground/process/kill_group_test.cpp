#include "nadi/process/kill_group.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nadi/base/format.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

// A tree as systemd shows it: version 2 alone, our process in a group of its own.
void write_tree(const fs::path& root) {
  fs::create_directories(root / "proc/self");
  fs::create_directories(root / "sys/fs/cgroup/user/session");
  write_text(root / "proc/self/cgroup", "0::/user/session\n");
  write_text(root / "proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
}

TEST(KillGroup, IsNotMadeWhereTheKernelHasNoKillFile) {
  const WorkingFolder folder;
  const fs::path root = fs::current_path();
  EXPECT_FALSE(KillGroup::make("nadi-test", root)) << "no control groups at all";
  write_tree(root);
  EXPECT_FALSE(KillGroup::make("nadi-test", root));
  EXPECT_FALSE(fs::exists(root / "sys/fs/cgroup/user/session/nadi-test")) << "taken back";
}

TEST(KillGroup, EndsItsProcessesAtOnce) {
  auto group = KillGroup::make(format("nadi-test-{}", getpid()));
  if (!group) GTEST_SKIP() << "no control group can be made here";
  const fs::path folder = group->folder();
  EXPECT_TRUE(group->is_empty());
  EXPECT_FALSE(KillGroup::make(format("nadi-test-{}", getpid()))) << "two would end together";
  const pid_t child = fork();
  if (child == 0) {
    if (!group->take_this_process()) _exit(1);
    setsid();
    for (;;) pause();
  }
  while (group->is_empty()) poll(nullptr, 0, 1);
  group->kill();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(group->is_empty());
  group.reset();
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace nadi::inline ground
