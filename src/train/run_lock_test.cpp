#include "nadi/train/run_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"

namespace nadi {
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

}  // namespace
}  // namespace nadi
