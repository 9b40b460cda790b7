// With a clock that is moved by hand.
#include "nadi/launch/hang_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/comm/comm_record.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

class HangWatchTest : public testing::Test {
 protected:
  // In looks of a second, as a launcher has them at most.
  void pass(int seconds) {
    for (int i = 0; i < seconds; ++i) watch_.tick(now_ += std::chrono::seconds(1));
  }
  void hear(RankBeat beat) {
    beat.number = ++beats_;
    watch_.heard(beat);
  }
  static RankBeat waiting(int rank, std::uint64_t number) {
    return {.rank = rank,
            .waits = BeatRequest{.op = "all-reduce", .group = "0-3", .number = number, .size = Bytes{16384}},
            .groups = {{"0-3", number}}};
  }

  std::chrono::steady_clock::time_point now_ = {};
  HangWatch watch_{4};
  std::uint64_t beats_ = 0;
};

TEST_F(HangWatchTest, OneRankThatGetsOnIsEnough) {
  watch_.tick(now_);
  pass(10);
  EXPECT_EQ(watch_.idle(), milliseconds(10'000)) << "nobody has started";
  hear({.rank = 2, .idle = milliseconds(0)});
  EXPECT_EQ(watch_.idle(), milliseconds(0));
  for (int rank : {0, 1, 3}) hear({.rank = rank, .idle = milliseconds(8000)});
  pass(3);
  EXPECT_EQ(watch_.idle(), milliseconds(3000)) << "rank 2 got on three seconds ago";
  hear({.rank = 2, .idle = milliseconds(500)});
  EXPECT_EQ(watch_.idle(), milliseconds(500));
}

TEST_F(HangWatchTest, TimeInWhichTheWatcherWasStoppedDoesNotCount) {
  watch_.tick(now_);
  hear({.rank = 0});
  watch_.tick(now_ += std::chrono::hours(1));
  EXPECT_EQ(watch_.idle(), HangWatch::kLongestTick);
}

// Rank 2 has come to two collectives, the others wait in the third.
TEST_F(HangWatchTest, NamesWhoWaitsAndWhoIsMissing) {
  watch_.tick(now_);
  pass(1);
  hear({.rank = 2, .doing = "after step 7 of 100", .groups = {{"0-3", 2}}});
  pass(20);
  for (int rank : {0, 1, 3}) hear(waiting(rank, 3));
  watch_.state(2, 'T');
  EXPECT_THAT(watch_.report().lines,
              ElementsAre("rank 2 is stopped by a signal (SIGSTOP) (after step 7 of 100)",
                          "ranks 0-1, 3 wait in all-reduce 3 of ranks 0-3 (16.0 KiB) for rank 2"));
}

TEST_F(HangWatchTest, TellsOfEachWayToStand) {
  watch_.tick(now_);
  hear({.rank = 0, .blocked = "writes to standard output, which nobody reads"});
  hear({.rank = 1, .waits = BeatRequest{.op = "receive", .group = "0-3", .peer = 0}});
  watch_.started(2);
  EXPECT_THAT(watch_.report().lines, ElementsAre("rank 0 writes to standard output, which nobody reads",
                                                 "rank 2 shows no sign of life", "rank 3 has not started",
                                                 "rank 1 waits in receive for rank 0"));
  pass(9);
  EXPECT_THAT(
      watch_.report().lines,
      testing::Contains("ranks 0-1 are silent for 9 s: stopped, or cut off together with its machine"));
}

// Over NCCL ranks wait for what their GPUs were given, not for one collective.
TEST_F(HangWatchTest, RanksThatWaitForTheirGpu) {
  watch_.tick(now_);
  for (int rank : {0, 1, 3})
    hear({.rank = rank,
          .waits = BeatRequest{.op = std::string(to_string(CommOp::kDevice)), .group = "0-3"},
          .groups = {{"0-3", 7}}});
  hear({.rank = 2});
  watch_.state(2, 'T');
  EXPECT_THAT(watch_.report().lines,
              ElementsAre("rank 2 is stopped by a signal (SIGSTOP)",
                          "ranks 0-1, 3 wait for their GPUs' exchange of data among ranks 0-3"));
}

TEST_F(HangWatchTest, ACollectiveToWhichAllHaveComeIsNobodysFault) {
  watch_.tick(now_);
  for (int rank : {0, 1, 2, 3}) hear(waiting(rank, 5));
  EXPECT_THAT(
      watch_.report().lines,
      ElementsAre("ranks 0-3 wait in all-reduce 5 of ranks 0-3 (16.0 KiB), to which all of them have come"));
}

TEST_F(HangWatchTest, WritesTheRequestsOfAllRanksAndOverwritesNothing) {
  const TemporaryFolder folder;
  RankBeat beat = waiting(1, 1);
  beat.last = {*beat.waits};
  hear(beat);
  HangReport report = watch_.report();
  write_collectives(report, folder.path() / "run");
  EXPECT_EQ(report.file, folder.path() / "run" / "collectives.json");
  const Json json = Json::parse(read_text(report.file));
  EXPECT_EQ(json["nadi_collectives"], 1);
  ASSERT_EQ(json["ranks"].size(), 4U);
  EXPECT_EQ(json["ranks"][1]["last"][0]["op"], "all-reduce");
  EXPECT_EQ(json["ranks"][1]["last"][0]["took_s"], nullptr);
  HangReport second = watch_.report();
  write_collectives(second, folder.path() / "run");
  EXPECT_EQ(second.file.filename(), "collectives-2.json");
  HangReport third = watch_.report();
  write_text(folder.path() / "file", "");
  write_collectives(third, folder.path() / "file");
  EXPECT_TRUE(third.file.empty());
  EXPECT_THAT(third.file_problem, HasSubstr("file"));
}

}  // namespace
}  // namespace nadi::inline jobs
