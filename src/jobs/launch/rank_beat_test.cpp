#include "nadi/launch/rank_beat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/comm/comm_record.h"

namespace nadi::inline jobs {
namespace {

TEST(RankBeat, IsReadBackAsItWasWritten) {
  const RankBeat beat{
      .rank = 3,
      .host = "a \"b\"\n",
      .pid = 4711,
      .number = 12,
      .idle = std::chrono::milliseconds(1500),
      .at_disk = true,
      .doing = "after step 7 of 100",
      .blocked = "writes to standard output",
      .waits = BeatRequest{.op = "all-reduce", .group = "0-3", .number = 9, .size = Bytes{64}},
      .waits_s = 2.5,
      .groups = {{"0-3", 9}, {"1,3", 2}},
      .last = {{.op = "send", .group = "1,3", .peer = 1, .age_s = 4, .took_s = 0.5}}};
  const std::string line = to_line(beat);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto again = parse_beat(line);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, beat);
}

TEST(RankBeat, OtherLinesAreNone) {
  for (const char* line : {"", "{}", "[]", "{\"rank\": 1", R"({"rank": "x", "host": "a"})"})
    EXPECT_FALSE(parse_beat(line)) << line;
}

TEST(RankBeat, TakesWaitsAndGroupsFromTheRecord) {
  CommRecord record;
  record.add_group({Rank{0}, Rank{1}, Rank{2}});
  record.add_group({Rank{0}, Rank{2}});
  record.start({.op = CommOp::kBarrier});
  const std::uint64_t place =
      record.start({.op = CommOp::kAllGather, .group = CommGroup{1}, .size = Bytes{16}});
  const CommRecord::Waiting waiting(record, place);
  RankBeat beat;
  add_record(beat, record);
  ASSERT_EQ(beat.groups.size(), 2U);
  EXPECT_EQ(beat.groups[0], (RankBeat::Group{"0-2", 1}));
  EXPECT_EQ(beat.groups[1], (RankBeat::Group{"0,2", 1}));
  ASSERT_TRUE(beat.waits);
  EXPECT_EQ(beat.waits->op, "all-gather");
  EXPECT_EQ(beat.waits->group, "0,2");
  EXPECT_EQ(beat.waits->number, 1U);
  EXPECT_EQ(beat.last.size(), 2U);
}

}  // namespace
}  // namespace nadi::inline jobs
