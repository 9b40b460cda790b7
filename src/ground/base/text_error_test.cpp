#include "nadi/base/text_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nadi::inline ground {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TextError, PointsAtTheMistake) {
  const std::string text = "{\n  \"type\": \"nvlnk4\"\n}\n";  // the value starts at byte 2 + 10 = 12
  const Error error =
      error_in_text({.file = "c.json", .text = text, .begin = 12, .end = 20}, "unknown", "try");
  EXPECT_STREQ(error.what(), "c.json:2:11: unknown");
  EXPECT_EQ(error.hint(), "try");
  EXPECT_EQ(error.excerpt(),
            "    2 |   \"type\": \"nvlnk4\"\n"
            "      |           ^^^^^^^^");
}

TEST(TextError, CaretsEndWithTheLine) {
  const Error error = error_in_text({.file = "f", .text = "ab\r\ncd", .begin = 1, .end = 6}, "m");
  EXPECT_EQ(error.excerpt(), "    1 | ab\n      |  ^");
}

TEST(TextError, CountsCharactersAndKeepsTabs) {
  const std::string text = "\t\"\xC3\xBC\xE2\x82\xAC\": x";  // tab, quote, u umlaut, euro sign
  const Error error = error_in_text({.file = "f", .text = text, .begin = 10, .end = 11}, "m");
  EXPECT_EQ(error.place().column, 8);  // tab 1, quote 2, umlaut 3, euro 4, quote 5, colon 6, space 7
  EXPECT_EQ(error.excerpt(), "    1 | " + text + "\n      | \t      ^");
}

TEST(TextError, PointsBehindTheEnd) {
  const Error error = error_in_text({.file = "f", .text = "[1", .begin = 2, .end = 2}, "m");
  EXPECT_STREQ(error.what(), "f:1:3: m");
  EXPECT_EQ(error.excerpt(), "    1 | [1\n      |   ^");
  EXPECT_EQ(error_in_text({.file = "f", .text = "", .begin = 0, .end = 0}, "m").excerpt(),
            "    1 | \n      | ^");
}

TEST(TextError, CutsALongLine) {
  const std::string text = std::string(1000, 'a') + "X" + std::string(1000, 'b');
  const Error error = error_in_text({.file = "f", .text = text, .begin = 1000, .end = 1001}, "m");
  EXPECT_EQ(error.place().column, 1001);
  // 50 letters before, X, 69 after: 120 in all.
  EXPECT_EQ(error.excerpt(), "    1 | ..." + std::string(50, 'a') + "X" + std::string(69, 'b') + "...\n" +
                                 "      | " + std::string(53, ' ') + "^");
}

TEST(TextError, CutsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "\xE2\x82\xAC";
  for (std::size_t begin = 0; begin < text.size(); begin += 3) {
    const Error error = error_in_text({.file = "f", .text = text, .begin = begin, .end = begin + 3}, "m");
    EXPECT_THAT(error.excerpt(), Not(HasSubstr("\xEF\xBF\xBD")));
  }
}

TEST(TextError, DoesNotRepeatControlCharacters) {
  const Error error = error_in_text({.file = "f", .text = "a\x1B[31m\xFFz", .begin = 0, .end = 1}, "m");
  EXPECT_EQ(error.excerpt(), "    1 | a\xEF\xBF\xBD[31m\xEF\xBF\xBDz\n      | ^");
}

}  // namespace
}  // namespace nadi::inline ground
