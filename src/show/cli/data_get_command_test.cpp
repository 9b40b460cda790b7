#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nadi/cli/run_for_tests.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(DataGetCommand, SaysWhereSquadComesFrom) {
  const WorkingFolder folder;
  const CliRun bare = run("data get squad");
  EXPECT_EQ(bare.code, 2);
  EXPECT_THAT(bare.err, StartsWith("error: squad is in no package: say where its files are\n"));
  EXPECT_THAT(bare.err, HasSubstr("get train-v1.1.json and dev-v1.1.json from https://"));
  EXPECT_THAT(bare.err, HasSubstr("--from"));
  EXPECT_THAT(bare.err, HasSubstr("they go to cache"));
  const CliRun unknown = run("data get gpt3");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no public data 'gpt3'"));
  EXPECT_THAT(unknown.err, HasSubstr("gpt2"));
}

TEST(DataGetCommand, ChecksWhatItIsGiven) {
  const WorkingFolder folder;
  write_text("got/train-v1.1.json", "{}");
  const CliRun cut = run("data get squad --from got");
  EXPECT_EQ(cut.code, 3);
  EXPECT_THAT(
      cut.err,
      HasSubstr("got/train-v1.1.json: train-v1.1.json has 2 bytes, and its publisher's has 30,288,272"));
  EXPECT_FALSE(std::filesystem::exists("cache"));
  write_text("cache/train-v1.1.json", "mine");
  const CliRun other = run("data get squad --from got");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("hint: --force replaces it"));
}

}  // namespace
}  // namespace nadi::inline show
