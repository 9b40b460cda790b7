#include "nadi/base/read_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace nadi::inline ground {
namespace {

TEST(ReadNumber, TakesTheWholeText) {
  std::int64_t number = 7;
  EXPECT_TRUE(read_number("-12", number));
  EXPECT_EQ(number, -12);
  double real = 0;
  EXPECT_TRUE(read_number("2.5e-1", real));
  EXPECT_EQ(real, 0.25);
}

TEST(ReadNumber, LeavesTheNumberWhereTheTextIsNone) {
  std::int64_t number = 7;
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "9223372036854775808"}) {
    EXPECT_FALSE(read_number(text, number)) << text;
    EXPECT_EQ(number, 7) << text;
  }
  std::uint16_t port = 1;
  EXPECT_FALSE(read_number("65536", port));
  EXPECT_FALSE(read_number("-1", port));
}

}  // namespace
}  // namespace nadi::inline ground
