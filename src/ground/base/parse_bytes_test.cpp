#include "nadi/base/parse_bytes.h"

#include <gtest/gtest.h>

namespace nadi::inline ground {
namespace {

TEST(ParseBytes, ReadsPowersOf1000And1024) {
  EXPECT_EQ(parse_bytes("0"), Bytes{0});
  EXPECT_EQ(parse_bytes("1048576"), 1_MiB);
  EXPECT_EQ(parse_bytes("7B"), Bytes{7});
  EXPECT_EQ(parse_bytes("1k"), Bytes{1'000});
  EXPECT_EQ(parse_bytes("1MB"), Bytes{1'000'000});
  EXPECT_EQ(parse_bytes("1MiB"), Bytes{1'048'576});
  EXPECT_EQ(parse_bytes("2 GiB"), 2_GiB);
  EXPECT_EQ(parse_bytes("3Ti"), 3_GiB * 1024);
  EXPECT_EQ(parse_bytes("4tb"), Bytes{4'000'000'000'000});
  EXPECT_EQ(parse_bytes("0.1MB"), Bytes{100'000});
  EXPECT_EQ(parse_bytes("1.5KiB"), Bytes{1'536});  // 1.5 * 1024
}

TEST(ParseBytes, RefusesAnythingElse) {
  for (const char* text : {"",    "MB",    " 1", "1 ", "1  MB", "-1",   "+1",   "1XB",   "1MBB", "1Bi",
                           "1e6", "1.2.3", ".",  "1.", ".B",    "1MB2", "0x10", "1,000", "0.5",  "1.0001KiB"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  EXPECT_EQ(parse_bytes("9223372036854775807"), Bytes{9223372036854775807});  // 2^63 - 1
  for (const char* text : {"9223372036854775808", "9223373T", "8388608TiB", "99999999999999999999"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

}  // namespace
}  // namespace nadi::inline ground
