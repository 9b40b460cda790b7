#include "nadi/base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <utility>
#include <vector>

#include "nadi/base/files_for_tests.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using AtomicFileTest = FolderTest;

TEST_F(AtomicFileTest, AppearsOnlyWhenCommitted) {
  const fs::path path = folder_ / "trace.et";
  AtomicFile file(path, Overwrite::kRefuse);
  file.write("ab");
  file.write("c");
  EXPECT_FALSE(fs::exists(path));
  file.commit();
  EXPECT_EQ(read_text(path), "abc");
  EXPECT_EQ(file.size(), 3_B);
  EXPECT_EQ(entries(folder_), 1);  // no temporary left
}

TEST_F(AtomicFileTest, WithoutCommitNothingIsLeft) {
  const fs::path path = folder_ / "trace.et";
  write_atomically(path, "old", Overwrite::kRefuse);
  {
    AtomicFile file(path, Overwrite::kAllow);
    file.write("new");
    EXPECT_EQ(entries(folder_), 2);
  }
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(entries(folder_), 1);
}

TEST_F(AtomicFileTest, WritesMoreThanItsBuffer) {
  // 3 pieces of 700,001 bytes: 2,100,003 bytes, two full blocks of 1,048,576 and a rest.
  std::string expected;
  AtomicFile file(folder_ / "big", Overwrite::kRefuse);
  for (const char letter : {'a', 'b', 'c'}) {
    const std::string piece(700'001, letter);
    expected += piece;
    file.write(piece);
  }
  file.commit();
  EXPECT_EQ(read_text(folder_ / "big"), expected);
}

TEST_F(AtomicFileTest, CreatesMissingFolders) {
  write_atomically(folder_ / "a/b/c.json", "{}", Overwrite::kRefuse);
  EXPECT_EQ(read_text(folder_ / "a/b/c.json"), "{}");
}

TEST_F(AtomicFileTest, RefusesAnExistingFileAtOnce) {
  const fs::path path = folder_ / "trace.et";
  write_atomically(path, "old", Overwrite::kRefuse);
  const auto error = error_of([&] { AtomicFile(path, Overwrite::kRefuse); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kUsage);
  EXPECT_EQ(error->what(), path.string() + ": the file exists");
  EXPECT_TRUE(is_existing_target(*error));
  EXPECT_EQ(entries(folder_), 1);
}

TEST_F(AtomicFileTest, RefusesAFileThatAppearedMeanwhile) {
  const fs::path path = folder_ / "trace.et";
  AtomicFile file(path, Overwrite::kRefuse);
  file.write("mine");
  write_text(path, "theirs");
  const auto error = error_of([&] { file.commit(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kUsage);
  EXPECT_EQ(read_text(path), "theirs");
}

TEST_F(AtomicFileTest, OverwritesWhenAllowedAndKeepsPermissions) {
  const fs::path path = folder_ / "private.json";
  write_atomically(path, "old", Overwrite::kRefuse);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  write_atomically(path, "new", Overwrite::kAllow);
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AtomicFileTest, NewFileHasTheUsersPermissions) {
  const mode_t old_mask = umask(022);
  write_atomically(folder_ / "new", "", Overwrite::kRefuse);
  umask(old_mask);
  EXPECT_EQ(static_cast<unsigned>(fs::status(folder_ / "new").permissions()), 0644U);  // 0666 without 022
}

TEST_F(AtomicFileTest, FollowsALinkInsteadOfReplacingIt) {
  write_atomically(folder_ / "real", "old", Overwrite::kRefuse);
  fs::create_symlink("real", folder_ / "link");
  write_atomically(folder_ / "link", "new", Overwrite::kAllow);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_text(folder_ / "real"), "new");
  fs::create_symlink("nowhere", folder_ / "dangling");
  write_atomically(folder_ / "dangling", "made", Overwrite::kAllow);
  EXPECT_EQ(read_text(folder_ / "nowhere"), "made");
  fs::create_symlink("circle", folder_ / "circle");
  const auto error = error_of([&] { AtomicFile(folder_ / "circle", Overwrite::kAllow); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("circle: cannot write: Too many levels of symbolic links"));
}

TEST_F(AtomicFileTest, RefusesFoldersAndDevices) {
  const fs::path with_slash = folder_ / "";
  for (const fs::path& path : {folder_.path(), with_slash}) {
    const auto error = error_of([&] { AtomicFile(path, Overwrite::kAllow); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error->what(), HasSubstr(path.string() + ": cannot write: Is a directory"));
  }
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const auto error = error_of([&] { AtomicFile(folder_ / "pipe", Overwrite::kAllow); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("not a regular file"));
}

TEST_F(AtomicFileTest, NamesTheFileInTheWay) {
  write_atomically(folder_ / "file", "", Overwrite::kRefuse);
  const auto error = error_of([&] { AtomicFile(folder_ / "file/below.et", Overwrite::kRefuse); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->what(), HasSubstr("Not a directory"));
}

TEST_F(AtomicFileTest, NamesAFolderItMayNotWriteTo) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const auto error = error_of([&] { AtomicFile(folder_ / "trace.et", Overwrite::kRefuse); });
  fs::permissions(folder_.path(), fs::perms::owner_all);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->what(),
              HasSubstr(folder_.path().string() + ": cannot create a file in this folder: Permission"));
}

// A file size limit of 1 MiB stands in for a full disk: the second block of 1 MiB does not fit.
TEST_F(AtomicFileTest, AFullDiskIsAnErrorAndLeavesNothing) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit one_mebibyte{1 << 20, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &one_mebibyte);
  const fs::path path = folder_ / "trace.et";
  const auto error =
      error_of([&] { write_atomically(path, std::string((1 << 20) + 1, 'x'), Overwrite::kRefuse); });
  setrlimit(RLIMIT_FSIZE, &old_limit);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_EQ(error->what(), path.string() + ": cannot write: File too large");
  EXPECT_EQ(entries(folder_), 0);
}

TEST_F(AtomicFileTest, MovesKeepOneOwner) {
  AtomicFile first(folder_ / "trace.et", Overwrite::kRefuse);
  first.write("a");
  AtomicFile second = std::move(first);
  second.write("b");
  second.commit();
  EXPECT_EQ(read_text(folder_ / "trace.et"), "ab");
}

TEST_F(AtomicFileTest, ManyAreSyncedAtOnce) {
  {
    std::vector<AtomicFile> files;
    for (std::size_t i = 0; i < 3; ++i) {
      files.emplace_back(folder_ / std::to_string(i), Overwrite::kRefuse, i);
      files.back().write(std::string(100'000, 'a'));  // large enough not to be collected
      files.back().write("b");
      files.back().close(i == 0 ? Durability::kNow : Durability::kLater);
    }
    EXPECT_EQ(entries(folder_), 3);  // the temporaries
    sync_file_system(folder_);
    files[0].commit();
    files[2].commit();
    sync_folder(folder_);
  }
  EXPECT_EQ(read_text(folder_ / "0"), std::string(100'000, 'a') + "b");
  EXPECT_EQ(read_text(folder_ / "2"), read_text(folder_ / "0"));
  EXPECT_EQ(entries(folder_), 2);  // the one without a commit is gone
}

TEST_F(AtomicFileTest, ExistingFilesCanBeRefusedInAdvance) {
  refuse_existing(folder_ / "new");
  write_atomically(folder_ / "old", "x", Overwrite::kRefuse);
  const auto error = error_of([&] { refuse_existing(folder_ / "old"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace nadi::inline ground
