#include "nadi/launch/rank_board.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "nadi/launch/launch.h"

namespace nadi::inline jobs {
namespace {

constexpr RankEnd exited(int code, bool asked = false) {
  return {.status = EndStatus{.exit_code = code}, .asked = asked};
}
constexpr RankEnd killed(int signal, bool asked = false) {
  return {.status = EndStatus{.signal = signal}, .asked = asked};
}
constexpr RankEnd vanished() {
  return {};
}

struct Case {
  const char* what;
  std::vector<std::pair<int, RankEnd>> ends;  // in order of arrival
  std::optional<int> blamed;
};

TEST(RankBoard, BlamesTheRankThatFailedFirstWhateverArrivesFirst) {
  const Case cases[]{
      {"all well", {{1, exited(0)}, {0, exited(0)}}, std::nullopt},
      {"the only failure", {{1, exited(0)}, {0, exited(4)}}, 0},
      {"a killed rank, though others lost their connection before we heard",
       {{0, exited(4)}, {2, killed(9)}},
       2},
      {"bad input before what it did to the others", {{0, exited(1)}, {2, exited(3)}}, 2},
      {"of equals the first", {{2, exited(4)}, {0, exited(1)}}, 2},
      {"of signals the first", {{2, killed(11)}, {0, killed(9)}}, 2},
      {"a supervisor that was killed", {{0, exited(1)}, {1, vanished()}}, 1},
      {"ended as asked", {{0, exited(130, true)}, {1, killed(SIGTERM, true)}}, std::nullopt},
      {"MPI_Abort: mpirun asks all to end before the one that called it has",
       {{0, exited(130, true)}, {1, exited(7, true)}, {2, killed(SIGTERM, true)}},
       1},
      {"interrupted, but not by us", {{1, exited(130)}, {0, exited(130, true)}}, 1},
  };
  for (const Case& test : cases) {
    RankBoard board(3);
    for (const auto& [rank, end] : test.ends) board.ended(rank, end);
    EXPECT_EQ(board.blamed(), test.blamed) << test.what;
    EXPECT_EQ(board.any_failed(), test.blamed.has_value()) << test.what;
  }
}

TEST(RankBoard, TheFirstEndOfARankCounts) {
  RankBoard board(1);
  EXPECT_FALSE(board.all_ended());
  board.ended(0, killed(9));
  board.ended(0, vanished());
  EXPECT_TRUE(board.all_ended());
  EXPECT_EQ(board.end(0)->status, EndStatus{.signal = 9});
}

TEST(RankBoard, KeepsTheLastLinesOfEachRank) {
  RankBoard board(2);
  for (int i = 1; i <= 25; ++i) board.printed_error(1, "line " + std::to_string(i));
  const std::vector<std::string> lines = board.last_lines(1);
  ASSERT_EQ(lines.size(), 20u);
  EXPECT_EQ(lines.front(), "line 6");  // 25 - 20 + 1
  EXPECT_EQ(lines.back(), "line 25");
  EXPECT_TRUE(board.last_lines(0).empty());
}

TEST(RankEnd, IsReportedAsALine) {
  EXPECT_EQ(to_line(exited(3)), "end exit 3");
  EXPECT_EQ(to_line(killed(9, true)), "end signal 9 asked");
  RankEnd starved = killed(9);
  starved.out_of_memory = true;
  EXPECT_EQ(to_line(starved), "end signal 9 oom");
  for (const RankEnd& end :
       {exited(0), exited(255), exited(130, true), killed(11), killed(9, true), starved}) {
    const auto parsed = parse_end(to_line(end));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->status, end.status);
    EXPECT_EQ(parsed->asked, end.asked);
    EXPECT_EQ(parsed->out_of_memory, end.out_of_memory);
  }
  for (const char* line : {"", "end", "end exit", "end exit x", "end exit 3 4", "out end exit 3"})
    EXPECT_FALSE(parse_end(line)) << line;
}

// Others fail when a rank is gone; the one that was killed for memory is what the user has to know.
TEST(RankBoard, BlamesTheRankThatWasKilledForMemory) {
  RankEnd starved = killed(9);
  starved.out_of_memory = true;
  RankBoard board(3);
  board.ended(0, killed(9));
  board.ended(1, starved);
  EXPECT_EQ(board.blamed(), 1);
}

TEST(LaunchFailure, CallsAKillForMemoryThat) {
  const LaunchFailure failure{.rank = 1, .status = EndStatus{.signal = SIGKILL}, .out_of_memory = true};
  EXPECT_EQ(failure.to_string(), "rank 1 was killed because memory ran out: signal 9 (Killed)");
  const LaunchResult result{.failure = failure};
  EXPECT_EQ(result.exit_code(), 4);
}

TEST(EndStatus, NamesSignals) {
  EXPECT_EQ(EndStatus{.exit_code = 3}.to_string(), "exit code 3");
  EXPECT_EQ(EndStatus{.signal = SIGKILL}.to_string(), "signal 9 (Killed)");
  EXPECT_EQ(EndStatus{.signal = SIGSEGV}.to_string(), "signal 11 (Segmentation fault)");
}

}  // namespace
}  // namespace nadi::inline jobs
