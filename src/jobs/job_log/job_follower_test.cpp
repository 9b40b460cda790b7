#include "nadi/job_log/job_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

void append(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

std::string step_line(std::int64_t number) {
  return " iteration " + std::to_string(number) +
         "/ 100 | elapsed time per iteration (ms): 10.0 | number of nan iterations:   0 |\n";
}

TEST(JobFollower, ReadsWhatIsNew) {
  const TemporaryFolder folder;
  JobFollower follower({folder / "job"});
  EXPECT_FALSE(follower.refresh()) << "the folder is not there yet";
  EXPECT_THAT(follower.log().nodes, IsEmpty());

  write_text(folder / "job" / "n2.out", step_line(1) + "half a li");
  EXPECT_TRUE(follower.refresh());
  EXPECT_FALSE(follower.refresh());
  ASSERT_THAT(follower.log().nodes, SizeIs(1));

  append(folder / "job" / "n2.out", "ne\n" + step_line(2));
  write_text(folder / "job" / "n1.err", "RuntimeError: broken\n");
  EXPECT_TRUE(follower.refresh());
  ASSERT_THAT(follower.log().nodes, SizeIs(2)) << "a node that came later";
  EXPECT_EQ(follower.log().nodes[0].name, "n1");
  EXPECT_THAT(follower.log().nodes[1].points, SizeIs(2));
  EXPECT_EQ(follower.log().nodes[1].out.lines, 3);
  EXPECT_THAT(follower.log().errors, SizeIs(1));

  write_text(folder / "job" / "n2.out", step_line(7));
  write_text(folder / "job" / "n1.err", "");
  EXPECT_TRUE(follower.refresh());
  ASSERT_THAT(follower.log().nodes[1].points, SizeIs(1)) << "of the file that was written anew";
  EXPECT_EQ(follower.log().nodes[1].points[0].last, 7);
  EXPECT_THAT(follower.log().nodes[0].errors, IsEmpty());
  EXPECT_THAT(follower.log().errors, IsEmpty());
}

TEST(JobFollower, ALimitOfTimeIsKeptAndNothingIsLost) {
  const TemporaryFolder folder;
  constexpr int kLines = 60'000;
  std::string text;
  for (int i = 1; i <= kLines; ++i) text += step_line(i);
  for (const char* name : {"a.out", "b.out", "c.out"}) write_text(folder / name, text);
  JobFollower follower({folder});
  int refreshes = 0;
  do {
    follower.refresh({.threads = 2, .most_time = Nanoseconds{1}});
    ASSERT_LT(++refreshes, 1000);
  } while (follower.log().read < follower.log().size);
  EXPECT_GT(refreshes, 3) << "a block of each thread at a time";
  for (const NodeLog& node : follower.log().nodes) {
    EXPECT_EQ(node.out.lines, kLines);
    EXPECT_EQ(node.newest->last, kLines);
    EXPECT_EQ(node.out.damaged_lines, 0);
  }
}

TEST(JobFollower, WhatProgressThrowsComesThrough) {
  const TemporaryFolder folder;
  for (const char* name : {"a.out", "b.out"}) write_text(folder / name, std::string(3'000'000, '\n'));
  JobFollower follower({folder});
  struct Leave {};
  EXPECT_THROW(follower.refresh({.progress = [](Bytes, Bytes) { throw Leave{}; }}), Leave);
}

}  // namespace
}  // namespace nadi::inline jobs
