#include "nadi/job/slow_ranks.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi {
namespace {

TEST(SlowRanks, AreReadInEverySpelling) {
  const std::map<int, double> expected{{1, 2.0}, {3, 1.5}};
  for (const char* list : {"rank=1:2x,rank=3:1.5x", "1:2,3:1.5", "rank=3:1.5,1:2.0x"})
    EXPECT_EQ(parse_slow_ranks(list, 4), expected) << list;
  EXPECT_EQ(slow_variable_value(expected), "1:2,3:1.5");
  EXPECT_EQ(parse_slow_ranks(slow_variable_value(expected), 4), expected);
}

TEST(SlowRanks, RefusesWhatMakesNoSense) {
  const auto mistake = [](const char* list) -> std::string {
    try {
      parse_slow_ranks(list, 4);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.message();
    }
    return "no error";
  };
  for (const char* item : {"", "1", "1:", ":2", "rank:2x", "1:2y", "one:2", "1:nanx2"})
    EXPECT_EQ(mistake(item), "--slow does not take '" + std::string(item) + "'");
  EXPECT_EQ(mistake("1:2,"), "--slow does not take ''");
  EXPECT_EQ(mistake("4:2"), "--slow names rank 4, and the ranks are 0 to 3");
  EXPECT_EQ(mistake("-1:2"), "--slow names rank -1, and the ranks are 0 to 3");
  EXPECT_EQ(mistake("1:0.5x"), "--slow takes a factor of at least 1, not '1:0.5x'");
  EXPECT_EQ(mistake("1:infx"), "--slow takes a factor of at least 1, not '1:infx'");
  EXPECT_EQ(mistake("1:2,1:3"), "--slow names rank 1 twice");
}

}  // namespace
}  // namespace nadi
