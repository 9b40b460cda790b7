#include "nadi/train/run_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"

namespace nadi::inline runs {
namespace {

namespace fs = std::filesystem;

class RunLockTest : public testing::Test {
 protected:
  std::string refusal() const {
    try {
      const RunLock lock(folder_);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
      return error.what();
    }
  }

  const TemporaryFolder folder_;
};

// Locks of flock() belong to the open file, so that a second one in the same process is refused as well.
TEST_F(RunLockTest, KeepsASecondRunOut) {
  std::optional<RunLock> first(folder_);
  ASSERT_TRUE(first->held());
  EXPECT_NE(refusal().find("another run saves its checkpoints here: process " + std::to_string(getpid())),
            std::string::npos)
      << refusal();
  first.reset();
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(fs::is_empty(folder_.path())) << "the file goes with the lock";
}

TEST_F(RunLockTest, EndsWithItsProcess) {
  const pid_t child = fork();
  if (child == 0) {
    const RunLock lock(folder_);
    _exit(0);  // as if killed: nothing is removed
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(fs::exists(folder_ / kRunLockFile));
  EXPECT_EQ(refusal(), "");
}

TEST_F(RunLockTest, LeavesWhatIsNoLock) {
  const fs::path lock = folder_ / kRunLockFile, precious = folder_ / "precious";
  const auto expect_refused = [&](const std::string& what) {
    EXPECT_NE(refusal().find(what + " has the name of the lock of a run, and is left as it is"),
              std::string::npos)
        << refusal();
    EXPECT_TRUE(fs::exists(fs::symlink_status(lock)));
    fs::remove(lock);
  };
  std::ofstream(precious) << "process of thought";
  fs::create_symlink(precious, lock);
  expect_refused("a symbolic link");
  fs::create_hard_link(precious, lock);
  expect_refused("a hard link to another file");
  ASSERT_EQ(mkfifo(lock.c_str(), 0600), 0);
  expect_refused("something that is no file");
  std::ofstream(lock) << "my notes";
  expect_refused("another file");
  std::string kept;
  std::getline(std::ifstream(precious), kept);
  EXPECT_EQ(kept, "process of thought");
}

TEST_F(RunLockTest, TheFolderMayBeALink) {
  fs::create_directory(folder_ / "run");
  fs::create_directory_symlink(folder_ / "run", folder_ / "link");
  const RunLock lock(folder_ / "link");
  EXPECT_TRUE(fs::exists(folder_ / "run" / kRunLockFile));
  EXPECT_THROW(RunLock(folder_ / "run"), Error);
}

}  // namespace
}  // namespace nadi::inline runs
