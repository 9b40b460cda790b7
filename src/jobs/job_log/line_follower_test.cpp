#include "nadi/job_log/line_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LineFollowerTest : public testing::Test {
 protected:
  void append(std::string_view text) { std::ofstream(path_, std::ios::app | std::ios::binary) << text; }

  LineFollower::Change read(std::size_t block = 16) {
    const LineFollower::Change change = follower_.look(file_);
    std::vector<char> buffer(block);
    lines_.clear();
    offsets_.clear();
    follower_.read(
        file_, buffer,
        [&](std::string_view line, std::int64_t offset) {
          lines_.emplace_back(line);
          offsets_.push_back(offset);
        },
        [](std::size_t) { return false; });
    return change;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "n060.out";
  LineFollower follower_{path_};
  LogFile file_;
  std::vector<std::string> lines_;
  std::vector<std::int64_t> offsets_;
};

TEST_F(LineFollowerTest, OnlyWhatIsNew) {
  append("one\ntwo\nthr");
  EXPECT_EQ(read(), LineFollower::Change::kGrown);
  EXPECT_THAT(lines_, ElementsAre("one", "two"));
  EXPECT_THAT(offsets_, ElementsAre(0, 4));
  EXPECT_EQ(read(), LineFollower::Change::kNone);
  EXPECT_THAT(lines_, IsEmpty());
  append("ee\nfour of more than a block of sixteen bytes\n");
  EXPECT_EQ(read(), LineFollower::Change::kGrown);
  EXPECT_THAT(lines_, ElementsAre("three", "four of more than a block of sixteen bytes"));
  EXPECT_THAT(offsets_, ElementsAre(8, 14));
  EXPECT_EQ(file_.lines, 4);
  EXPECT_THAT(file_.tail, ElementsAre("one", "two", "three", "four of more than a block of sixteen bytes"));
}

TEST_F(LineFollowerTest, AShorterFileIsReadAgain) {
  append("one\ntwo\n");
  read();
  write_text(path_, "new\n");
  EXPECT_EQ(read(), LineFollower::Change::kReplaced);
  EXPECT_THAT(lines_, ElementsAre("new"));
  EXPECT_EQ(file_.replaced, 1);
  EXPECT_EQ(file_.lines, 1);
}

TEST_F(LineFollowerTest, ALongerFileInItsPlaceIsReadAgain) {
  append("one\n");
  read();
  write_text(folder_ / "other", "eins\nzwei\n");
  std::filesystem::rename(folder_ / "other", path_);
  EXPECT_EQ(read(), LineFollower::Change::kReplaced);
  EXPECT_THAT(lines_, ElementsAre("eins", "zwei"));
}

TEST_F(LineFollowerTest, AFileWrittenAnewInPlaceIsReadAgain) {
  append("one\n");
  read();
  write_text(path_, "eins\nzwei\n");  // truncated and longer than before when it is looked at
  EXPECT_EQ(read(), LineFollower::Change::kReplaced);
  EXPECT_THAT(lines_, ElementsAre("eins", "zwei"));
}

TEST_F(LineFollowerTest, OfALongLineItsBeginning) {
  append("short\n" + std::string(3 * kLongestLogLine, 'x') + "\nafter\n");
  read(4096);
  ASSERT_EQ(lines_.size(), 3U);
  EXPECT_EQ(lines_[1], std::string(kLongestLogLine, 'x'));
  EXPECT_EQ(lines_[2], "after");
  EXPECT_EQ(offsets_[2], static_cast<std::int64_t>(6 + 3 * kLongestLogLine + 1));
  EXPECT_EQ(file_.long_lines, 1);
  EXPECT_EQ(file_.lines, 3);
}

TEST_F(LineFollowerTest, OfALongProgressBarItsNewestPart) {
  std::string bar;
  while (bar.size() < 2 * kLongestLogLine) bar += "\r 10%|###       |";
  append(bar + "\rError: it broke\n");
  read(4096);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(lines_[0].ends_with("Error: it broke")) << lines_[0].size();
}

TEST_F(LineFollowerTest, AMissingFileSaysWhy) {
  EXPECT_EQ(read(), LineFollower::Change::kNone);
  EXPECT_EQ(file_.problem, "No such file or directory");
  append("one\n");
  EXPECT_EQ(read(), LineFollower::Change::kGrown);
  EXPECT_EQ(file_.problem, "");
}

}  // namespace
}  // namespace nadi::inline jobs
