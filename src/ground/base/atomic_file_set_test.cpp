#include "nadi/base/atomic_file_set.h"

#include <thread>

#include "nadi/base/files_for_tests.h"

namespace nadi::inline ground {
namespace {

namespace fs = std::filesystem;

class AtomicFileSetTest : public FolderTest, public testing::WithParamInterface<Durability> {};

TEST_P(AtomicFileSetTest, FilesAppearWhenTheSetIsPublished) {
  AtomicFileSet files(Overwrite::kRefuse, GetParam());
  AtomicFile& first = files.add(folder_ / "a" / "1");
  first.write("one");
  files.close(first);
  files.write(folder_ / "b" / "2", "two");
  EXPECT_FALSE(fs::exists(folder_ / "a" / "1"));
  files.publish();
  EXPECT_EQ(read_text(folder_ / "a" / "1"), "one");
  EXPECT_EQ(read_text(folder_ / "b" / "2"), "two");
  EXPECT_EQ(entries(folder_ / "a"), 1);  // no temporary is left
  EXPECT_EQ(entries(folder_ / "b"), 1);
}

TEST_P(AtomicFileSetTest, NothingAppearsWithoutPublish) {
  {
    AtomicFileSet files(Overwrite::kRefuse, GetParam());
    files.write(folder_ / "1", "one");
    files.add(folder_ / "2").write("two");
  }
  EXPECT_EQ(entries(folder_), 0);
}

TEST_P(AtomicFileSetTest, NothingAppearsWhenReadyThrows) {
  struct Stop {};
  {
    AtomicFileSet files(Overwrite::kRefuse, GetParam());
    files.write(folder_ / "1", "one");
    EXPECT_THROW(files.publish([] { throw Stop{}; }), Stop);
  }
  EXPECT_EQ(entries(folder_), 0);
}

TEST_P(AtomicFileSetTest, AnExistingFileIsRefusedOrReplaced) {
  write_atomically(folder_ / "1", "old", Overwrite::kRefuse);
  AtomicFileSet refusing(Overwrite::kRefuse, GetParam());
  EXPECT_THROW(refusing.write(folder_ / "1", "new"), Error);
  AtomicFileSet replacing(Overwrite::kAllow, GetParam());
  replacing.write(folder_ / "1", "new");
  EXPECT_EQ(read_text(folder_ / "1"), "old");
  replacing.publish();
  EXPECT_EQ(read_text(folder_ / "1"), "new");
}

TEST_P(AtomicFileSetTest, TwoThreadsAddFiles) {
  constexpr int kFiles = 50;
  AtomicFileSet files(Overwrite::kRefuse, GetParam());
  const auto add = [&](const std::string& name) {
    for (int i = 0; i < kFiles; ++i) files.write(folder_ / (name + std::to_string(i)), name);
  };
  std::thread other(add, "b");
  add("a");
  other.join();
  files.publish();
  EXPECT_EQ(entries(folder_), 2 * kFiles);
  EXPECT_EQ(read_text(folder_ / "b7"), "b");
}

INSTANTIATE_TEST_SUITE_P(Both, AtomicFileSetTest, testing::Values(Durability::kNow, Durability::kLater));

}  // namespace
}  // namespace nadi::inline ground
