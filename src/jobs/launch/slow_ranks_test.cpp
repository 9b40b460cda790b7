#include "nadi/launch/slow_ranks.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline jobs {
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
    EXPECT_EQ(mistake(item), "'" + std::string(item) + "' is not a rank with its factor");
  EXPECT_EQ(mistake("1:2,"), "'' is not a rank with its factor");
  EXPECT_EQ(mistake("4:2"), "rank 4 does not exist; the ranks are 0 to 3");
  EXPECT_EQ(mistake("-1:2"), "rank -1 does not exist; the ranks are 0 to 3");
  EXPECT_EQ(mistake("1:0.5x"), "a factor must be at least 1: '1:0.5x'");
  EXPECT_EQ(mistake("1:infx"), "a factor must be at least 1: '1:infx'");
  EXPECT_EQ(mistake("1:2,1:3"), "rank 1 is named twice");
}

}  // namespace
}  // namespace nadi::inline jobs
