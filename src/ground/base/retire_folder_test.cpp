#include "nadi/base/retire_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/files_for_tests.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

class RetireFolderTest : public FolderTest {};

TEST_F(RetireFolderTest, RemovesAFolderWithAllThatIsInIt) {
  write_text(folder_ / "old/a", "1");
  write_text(folder_ / "old/deep/er/b", "2");
  EXPECT_FALSE(retire_folder(folder_ / "old/"));
  EXPECT_EQ(entries(folder_), 0);
  EXPECT_FALSE(retire_folder(folder_ / "old"));  // nothing there
}

// A folder outside, reached through a link in three ways: it stays as it is.
TEST_F(RetireFolderTest, FollowsNoLinks) {
  write_text(folder_ / "outside/precious", "x");
  fs::create_directories(folder_ / "run/old/deep");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "run/old/deep/link");
  fs::create_symlink(folder_ / "outside/precious", folder_ / "run/old/file");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "run/linked");
  EXPECT_FALSE(retire_folder(folder_ / "run/old"));
  EXPECT_FALSE(retire_folder(folder_ / "run/linked"));
  EXPECT_EQ(entries(folder_ / "run"), 0);
  EXPECT_EQ(read_text(folder_ / "outside/precious"), "x");
  // The parent may be a link.
  fs::create_directories(folder_ / "run/old");
  fs::create_directory_symlink(folder_ / "run", folder_ / "to_run");
  EXPECT_FALSE(retire_folder(folder_ / "to_run/old"));
  EXPECT_EQ(entries(folder_ / "run"), 0);
}

// Folders of 10 files, removed by a process that is killed at some moment: each is there with all files, or
// not there; what is left is hidden, and is removed afterwards.
TEST_F(RetireFolderTest, KilledAtAnyMomentNothingIsHalfThere) {
  constexpr int kFolders = 12, kFiles = 10;
  const auto name = [&](int number) { return folder_ / ("checkpoint-" + std::to_string(number)); };
  int killed = 0;
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < kFolders; ++i)
      for (int file = 0; file < kFiles; ++file) write_text(name(i) / std::to_string(file), "x");
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < kFolders; ++i) retire_folder(name(i));
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) ++killed;
    for (int i = 0; i < kFolders; ++i)
      if (fs::exists(name(i))) {
        EXPECT_EQ(entries(name(i)), kFiles) << i;
      }
    remove_leftovers(folder_);
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      EXPECT_TRUE(entry.path().filename().string().starts_with("checkpoint-")) << entry.path();
  }
  EXPECT_GT(killed, 0);
}

}  // namespace
}  // namespace nadi::inline ground
