#include "nadi/base/atomic_folder.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "nadi/base/files_for_tests.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class AtomicFolderTest : public FolderTest {
 protected:
  // A folder with this number in two files.
  static void write_generation(const fs::path& path, int number, bool exchange = true) {
    AtomicFolder folder(path, {.overwrite = Overwrite::kAllow, .exchange = exchange});
    folder.write("a", std::to_string(number));
    folder.write("b", [&](AtomicFile& file) { file.write(std::to_string(number)); });
    folder.commit();
  }

  static std::string name_of_this_machine() {
    char name[256] = {};
    gethostname(name, sizeof(name) - 1);
    return name;
  }

  // A process that existed and has ended.
  static pid_t ended_process() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
  }

  fs::path hidden(pid_t owner, const std::string& suffix, const std::string& host = name_of_this_machine()) {
    return folder_ / (".nadi.best_model." + std::to_string(owner) + "@" + host + suffix);
  }
};

TEST_F(AtomicFolderTest, AppearsOnlyWhenCommitted) {
  const fs::path path = folder_ / "runs/one/checkpoint-10";
  AtomicFolder folder(path);
  folder.write("config.json", "{}");
  folder.write("weights", [](AtomicFile& file) { file.write("1234"); });
  EXPECT_FALSE(fs::exists(path));
  folder.commit();
  EXPECT_EQ(read_text(path / "config.json"), "{}");
  EXPECT_EQ(read_text(path / "weights"), "1234");
  EXPECT_EQ(entries(path), 2);
  EXPECT_EQ(entries(path.parent_path()), 1);  // nothing hidden is left
}

TEST_F(AtomicFolderTest, WithoutCommitNothingIsLeft) {
  write_generation(folder_ / "best_model", 1);
  {
    AtomicFolder folder(folder_ / "best_model/", {.overwrite = Overwrite::kAllow});
    folder.write("a", "2");
    EXPECT_EQ(entries(folder_), 2);
  }
  EXPECT_EQ(read_text(folder_ / "best_model/a"), "1");
  EXPECT_EQ(entries(folder_), 1);
}

TEST_F(AtomicFolderTest, ReplacesAWholeFolder) {
  for (const bool exchange : {true, false}) {
    write_text(folder_ / "best_model/of_old", "x");
    write_generation(folder_ / "best_model", 2, exchange);
    EXPECT_EQ(read_text(folder_ / "best_model/a"), "2");
    EXPECT_EQ(entries(folder_ / "best_model"), 2);  // the old file went
    EXPECT_EQ(entries(folder_), 1);
  }
}

TEST_F(AtomicFolderTest, RefusesAnExistingFolder) {
  write_text(folder_ / "best_model/a", "1");
  const auto at_once = error_of([&] { AtomicFolder(folder_ / "best_model"); });
  ASSERT_TRUE(at_once);
  EXPECT_EQ(at_once->kind(), ErrorKind::kUsage);
  EXPECT_EQ(at_once->what(), (folder_ / "best_model").string() + ": the folder exists");
  const auto meanwhile = error_of([&] {
    AtomicFolder folder(folder_ / "other");
    folder.write("a", "2");
    write_text(folder_ / "other/a", "theirs");
    folder.commit();
  });
  ASSERT_TRUE(meanwhile);
  EXPECT_EQ(meanwhile->kind(), ErrorKind::kUsage);
  EXPECT_EQ(read_text(folder_ / "other/a"), "theirs");
  EXPECT_EQ(entries(folder_), 2);
}

TEST_F(AtomicFolderTest, DoesNotReplaceWhatIsNotOurs) {
  write_text(folder_ / "home/photos/cat.jpg", "x");
  const auto folder = error_of([&] { write_generation(folder_ / "home", 1); });
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(folder->what(), HasSubstr("holds another folder, 'photos'"));
  EXPECT_EQ(read_text(folder_ / "home/photos/cat.jpg"), "x");
  write_text(folder_ / "file", "x");
  const auto file = error_of([&] { write_generation(folder_ / "file", 1); });
  ASSERT_TRUE(file);
  EXPECT_THAT(file->what(), HasSubstr("Not a directory"));
}

TEST_F(AtomicFolderTest, FoldersWithin) {
  {
    AtomicFolder folder(folder_ / "saved");
    folder.write("latest.txt", "1");
    folder.write("iter_1/rank_0/a", "x");
    folder.open("iter_1/rank_1/a", Bytes{2}).write_at(0, "yz");
    EXPECT_EQ(read_text(folder.hidden_path() / "iter_1/rank_1/a"), "yz");
    EXPECT_FALSE(fs::exists(folder_ / "saved"));
    folder.commit();
  }
  EXPECT_EQ(read_text(folder_ / "saved/iter_1/rank_0/a"), "x");
  EXPECT_EQ(read_text(folder_ / "saved/iter_1/rank_1/a"), "yz");
  {
    AtomicFolder folder(folder_ / "dropped");
    folder.open("iter_1/rank_1/a", Bytes{2}).write_at(0, "yz");
  }
  EXPECT_EQ(entries(folder_), 1);
}

TEST_F(AtomicFolderTest, ReplacesFoldersThatItMay) {
  const AtomicFolderOptions options{.overwrite = Overwrite::kAllow, .removable = [](const fs::path& within) {
                                      return within.begin()->string().starts_with("iter_");
                                    }};
  write_text(folder_ / "saved/iter_1/rank_0/a", "old");
  {
    AtomicFolder folder(folder_ / "saved", options);
    folder.write("iter_2/rank_0/a", "new");
    folder.commit();
  }
  EXPECT_EQ(entries(folder_), 1);
  EXPECT_EQ(entries(folder_ / "saved"), 1);
  EXPECT_EQ(read_text(folder_ / "saved/iter_2/rank_0/a"), "new");
  write_text(folder_ / "saved/photos/cat.jpg", "x");
  const auto error = error_of([&] { AtomicFolder(folder_ / "saved", options); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("holds another folder, 'photos'"));
  EXPECT_EQ(read_text(folder_ / "saved/photos/cat.jpg"), "x");
}

TEST_F(AtomicFolderTest, ALinkIsReplacedAndNotFollowed) {
  write_text(folder_ / "elsewhere/a", "1");
  fs::create_directory_symlink("elsewhere", folder_ / "best_model");
  write_generation(folder_ / "best_model", 2);
  EXPECT_FALSE(fs::is_symlink(folder_ / "best_model"));
  EXPECT_EQ(read_text(folder_ / "elsewhere/a"), "1");
  EXPECT_EQ(read_text(folder_ / "best_model/a"), "2");
}

// A file size limit of 1 MiB stands in for a full disk.
TEST_F(AtomicFolderTest, AFullDiskLeavesTheOldFolder) {
  write_generation(folder_ / "best_model", 1);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit one_mebibyte{1 << 20, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &one_mebibyte);
  const auto error = error_of([&] {
    AtomicFolder folder(folder_ / "best_model", {.overwrite = Overwrite::kAllow});
    folder.write("a", "2");
    folder.write("b", std::string((1 << 20) + 1, 'x'));
    folder.commit();
  });
  setrlimit(RLIMIT_FSIZE, &old_limit);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->what(), HasSubstr("File too large"));
  EXPECT_EQ(read_text(folder_ / "best_model/a"), "1");
  EXPECT_EQ(read_text(folder_ / "best_model/b"), "1");
  EXPECT_EQ(entries(folder_), 1);
}

// A child replaces the folder again and again until it is killed; whatever it was doing, the folder is whole.
TEST_F(AtomicFolderTest, KilledAtAnyMomentTheFolderIsWhole) {
  write_generation(folder_ / "best_model", 0);
  std::mt19937 random(1);
  for (int round = 0; round < 25; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int number = 1;; ++number) write_generation(folder_ / "best_model", number);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(entries(folder_ / "best_model"), 2);
    EXPECT_NE(read_text(folder_ / "best_model/a"), "");
    EXPECT_EQ(read_text(folder_ / "best_model/a"), read_text(folder_ / "best_model/b"));
    remove_leftovers(folder_);
    EXPECT_EQ(entries(folder_), 1);
  }
}

TEST_F(AtomicFolderTest, WhatKilledProgramsLeftIsRemoved) {
  const pid_t dead = ended_process();
  write_text(folder_ / "best_model/a", "1");
  write_text(hidden(dead, ".tmp") / "a", "half");
  write_text(hidden(dead, ".old") / "a", "0");
  write_text(hidden(1, ".tmp") / "a", "of a process that runs");
  write_text(hidden(dead, ".tmp", "another-machine") / "a", "may run there");
  write_text(folder_ / ".nadi.notes.txt", "somebody's");
  EXPECT_EQ(remove_leftovers(folder_), 2);
  EXPECT_FALSE(fs::exists(hidden(dead, ".tmp")));
  EXPECT_FALSE(fs::exists(hidden(dead, ".old")));
  EXPECT_EQ(read_text(folder_ / "best_model/a"), "1");
  EXPECT_EQ(entries(folder_), 4);
  EXPECT_EQ(remove_leftovers(folder_ / "nowhere"), 0);
}

// Killed between the two steps on a file system that cannot exchange.
TEST_F(AtomicFolderTest, AnOldFolderThatWasPutAsideGoesBack) {
  const pid_t dead = ended_process();
  write_text(hidden(dead, ".tmp") / "a", "2");
  write_text(hidden(dead, ".old") / "a", "1");
  EXPECT_EQ(remove_leftovers(folder_), 2);
  EXPECT_EQ(read_text(folder_ / "best_model/a"), "1");
  EXPECT_EQ(entries(folder_), 1);
}

// In a container the next process often has the same number.
TEST_F(AtomicFolderTest, LeftoversOfTheSameNumberAreNotInTheWay) {
  write_text(hidden(getpid(), ".tmp") / "stale", "x");
  write_generation(folder_ / "best_model", 1);
  EXPECT_EQ(entries(folder_ / "best_model"), 2);
  fs::rename(folder_ / "best_model", hidden(getpid(), ".old"));
  EXPECT_EQ(remove_leftovers(folder_), 1);
  EXPECT_EQ(read_text(folder_ / "best_model/a"), "1");
}

TEST_F(AtomicFolderTest, FilesThatMayNotGoAreInTheWayOrKept) {
  AtomicFolderOptions options{.overwrite = Overwrite::kAllow,
                              .removable = [](const fs::path& within) { return within == "a"; }};
  write_text(folder_ / "saved/a", "old");
  write_text(folder_ / "saved/notes.txt", "mine");
  const auto error = error_of([&] { AtomicFolder(folder_ / "saved", options); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->what(),
              HasSubstr("the folder holds a file of another kind, 'notes.txt', and is not replaced"));
  options.strangers = Strangers::kKeep;
  for (const bool exchange : {true, false}) {
    options.exchange = exchange;
    AtomicFolder folder(folder_ / "saved", options);
    folder.write("a", "new");
    folder.commit();
    EXPECT_EQ(read_text(folder_ / "saved/a"), "new");
    EXPECT_EQ(read_text(folder_ / "saved/notes.txt"), "mine");
    EXPECT_EQ(entries(folder_), 1);
  }
}

TEST_F(AtomicFolderTest, FilesThatKilledProgramsLeftAreRemoved) {
  const std::string mine =
      ".nadi.0." + std::to_string(ended_process()) + "@" + name_of_this_machine() + ".tmp";
  write_text(folder_ / mine, "half");
  write_text(folder_ / ".nadi.0.1@elsewhere.tmp", "of another machine");
  EXPECT_EQ(remove_leftovers(folder_), 1);
  EXPECT_FALSE(fs::exists(folder_ / mine));
  // The name that a file has before it is committed is such a name.
  AtomicFile file(folder_ / "out", Overwrite::kRefuse);
  file.write("x");
  EXPECT_EQ(remove_leftovers(folder_), 0);  // it is ours, and we run
  file.commit();
}

}  // namespace
}  // namespace nadi::inline ground
