#include "nadi/base/number_ranges.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline ground {
namespace {

TEST(NumberRanges, ListsAndRanges) {
  const NumberRanges ranges = parse_number_ranges("7,0-3,2-4,9", "--ranks");
  EXPECT_EQ(ranges.to_string(), "0-4,7,9");
  for (const std::int64_t number : {0, 1, 4, 7, 9}) EXPECT_TRUE(ranges.contains(number)) << number;
  for (const std::int64_t number : {-1, 5, 6, 8, 10}) EXPECT_FALSE(ranges.contains(number)) << number;
}

TEST(NumberRanges, NoneMeansAll) {
  EXPECT_TRUE(NumberRanges().contains(12));
  EXPECT_TRUE(NumberRanges().is_all());
  EXPECT_EQ(NumberRanges().to_string(), "all");
}

TEST(NumberRanges, TheLargestNumber) {
  const NumberRanges ranges = parse_number_ranges("5-9223372036854775807,9223372036854775807", "--ranks");
  EXPECT_EQ(ranges.to_string(), "5-9223372036854775807");
}

TEST(NumberRanges, Mistakes) {
  for (const char* text : {"", "a", "3-", "-3", "3-1", "1,,2", "1,", "0x1", "99999999999999999999"})
    EXPECT_THROW(parse_number_ranges(text, "--ranks"), Error) << text;
  try {
    parse_number_ranges("3-1", "--ranks");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_EQ(error.message(), "--ranks does not take '3-1'");
  }
}

}  // namespace
}  // namespace nadi::inline ground
