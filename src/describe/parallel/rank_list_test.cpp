#include "nadi/parallel/rank_list.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline describe {
namespace {

std::vector<Rank> ranks(std::vector<std::int32_t> numbers) {
  std::vector<Rank> list;
  for (const std::int32_t number : numbers) list.push_back(Rank{number});
  return list;
}

// "message | hint" of the Error.
std::string mistake(std::string_view text) {
  try {
    parse_ranks("--ranks", text, 16);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.message() + (error.hint().empty() ? "" : " | " + error.hint());
  }
  return "no error";
}

TEST(RankList, ReadsRanksAndRangesInAnyOrder) {
  EXPECT_EQ(parse_ranks("--ranks", "3", 16), ranks({3}));
  EXPECT_EQ(parse_ranks("--ranks", "8-10,0,15-15", 16), ranks({0, 8, 9, 10, 15}));
}

TEST(RankList, NamesMistakes) {
  for (const char* part : {"x", "-1", "1-", "3-2", "1.5", " 1", "99999999999999999999", ""})
    EXPECT_EQ(mistake("0," + std::string(part)), "--ranks takes ranks and ranges of them, and '" +
                                                     std::string(part) +
                                                     "' is neither | 0,8-15 are nine ranks");
  EXPECT_EQ(mistake("0-16"), "--ranks names rank 16, and there are 16 | ranks are 0 to 15");
  EXPECT_EQ(mistake("0-4000000000000"),
            "--ranks names rank 4000000000000, and there are 16 | ranks are 0 to 15");
  EXPECT_EQ(mistake("4,1-8"), "--ranks names rank 4 twice");
}

TEST(RankList, PrintsWhatItReads) {
  for (const char* text : {"0", "0-15", "0,8-15", "0,2,4,6,8,10-11"})
    EXPECT_EQ(as_ranges(parse_ranks("--ranks", text, 16)), text);
  EXPECT_EQ(as_short_ranges(ranks({0, 2, 3, 5})), "0, 2-3, 5");
  EXPECT_EQ(as_short_ranges(ranks({0, 2, 4, 6})), "0, 2, 4, 6");
  EXPECT_EQ(as_short_ranges(ranks({0, 2, 4, 6, 8, 9})), "0, 2, ..., 8-9");
}

}  // namespace
}  // namespace nadi::inline describe
