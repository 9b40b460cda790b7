#include "nadi/text/utf8.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline files {
namespace {

constexpr std::size_t kValid = std::string_view::npos;

TEST(Utf8, FindsTheFirstByteThatIsWrong) {
  EXPECT_EQ(find_invalid_utf8(""), kValid);
  EXPECT_EQ(find_invalid_utf8("plain text that is longer than eight bytes"), kValid);
  EXPECT_EQ(find_invalid_utf8("é東😀"), kValid);
  EXPECT_EQ(find_invalid_utf8("0123456789\xFF"), 10u);
  EXPECT_EQ(find_invalid_utf8("a\x80"), 1u);                 // a continuation without a beginning
  EXPECT_EQ(find_invalid_utf8("ab\xC3"), 2u);                // cut short
  EXPECT_EQ(find_invalid_utf8("\xE6\x9D"), 0u);              // cut short
  EXPECT_EQ(find_invalid_utf8("\xF0\x9F\x98"), 0u);          // cut short
  EXPECT_EQ(find_invalid_utf8("\xC0\x80"), 0u);              // overlong
  EXPECT_EQ(find_invalid_utf8("\xE0\x9F\xBF"), 0u);          // overlong
  EXPECT_EQ(find_invalid_utf8("\xF0\x8F\xBF\xBF"), 0u);      // overlong
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0u);          // a surrogate, U+D800
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0u);      // U+110000
  EXPECT_EQ(find_invalid_utf8("\xF4\x8F\xBF\xBF"), kValid);  // U+10FFFF
}

TEST(Utf8, RequireNamesTheOffset) {
  try {
    require_utf8("0123456789\xFF");
    FAIL() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().byte, 10);
  }
}

TEST(Utf8, EveryCharacterSurvivesWritingAndReading) {
  for (char32_t character = 0; character <= 0x10FFFF; character += character < 0x3000 ? 1 : 97) {
    if (character >= 0xD800 && character <= 0xDFFF) continue;
    std::string text;
    append_utf8(character, text);
    ASSERT_EQ(find_invalid_utf8(text), kValid);
    ASSERT_EQ(count_characters(text), 1u);
    const char* at = text.data();
    ASSERT_EQ(next_character(at), character);
    ASSERT_EQ(at, text.data() + text.size());
  }
}

}  // namespace
}  // namespace nadi::inline files
