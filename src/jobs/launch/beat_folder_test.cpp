#include "nadi/launch/beat_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;
using testing::SizeIs;

TEST(BeatFolder, RanksHearEachOtherAndLeaveNothing) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "beats";
  {
    const BeatFolder zero(path, 0);
    const BeatFolder one(path, 1);
    ASSERT_TRUE(zero.usable() && one.usable());
    zero.write({.rank = 0, .number = 1});
    one.write({.rank = 1, .number = 1});
    one.write({.rank = 1, .number = 2});
    write_text(path / "rank-7", "half a be");
    const std::vector<RankBeat> beats = zero.read(8);
    ASSERT_THAT(beats, SizeIs(2)) << "what is no beat is skipped";
    EXPECT_EQ(beats[0].number + beats[1].number, 3U);
    fs::remove(path / "rank-7");
    EXPECT_TRUE(one.claim());
    EXPECT_FALSE(zero.claim()) << "one rank speaks for all";
    EXPECT_TRUE(zero.claimed());
  }
  EXPECT_FALSE(fs::exists(path));
}

// Somebody cleared up: the next beat is there again.
TEST(BeatFolder, AFolderThatIsGoneIsMadeAgain) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "beats";
  const BeatFolder zero(path, 0);
  const BeatFolder one(path, 1);
  one.write({.rank = 1, .number = 1});
  fs::remove_all(path);
  EXPECT_THAT(zero.read(2), SizeIs(0));
  zero.write({.rank = 0, .number = 2});
  one.write({.rank = 1, .number = 2});
  EXPECT_THAT(zero.read(2), SizeIs(2));
  EXPECT_THAT(zero.read(1), SizeIs(1));
}

TEST(BeatFolder, ALinkIsNoFolderOfOurs) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "elsewhere");
  fs::create_directory_symlink("elsewhere", folder.path() / "beats");
  const BeatFolder beats(folder.path() / "beats", 0);
  EXPECT_FALSE(beats.usable());
  beats.write({.rank = 0});
  EXPECT_TRUE(fs::is_empty(folder.path() / "elsewhere"));
}

}  // namespace
}  // namespace nadi::inline jobs
