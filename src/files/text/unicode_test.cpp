#include "nadi/text/unicode.h"

#include <gtest/gtest.h>

namespace nadi::inline files {
namespace {

// All of them: PropList.txt of the Unicode Character Database.
TEST(Unicode, WhiteSpaceIsThePropertyOfThatName) {
  const CharacterTable& table = character_table();
  std::vector<char32_t> found;
  for (char32_t character = 0; character <= 0x10FFFF; ++character) {
    if ((table[character] & kSpace) != 0) found.push_back(character);
  }
  const std::vector<char32_t> expected{0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x20,   0x85,   0xA0,   0x1680,
                                       0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
                                       0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  EXPECT_EQ(found, expected);
}

TEST(Unicode, ClassesOfWellKnownCharacters) {
  const CharacterTable& table = character_table();
  EXPECT_EQ(table[U'a'], kLetter);
  EXPECT_EQ(table[U'ß'], kLetter);
  EXPECT_EQ(table[U'東'], kLetter | kIdeograph);
  EXPECT_EQ(table[U'あ'], kLetter);
  EXPECT_EQ(table[U'7'], kNumber);
  EXPECT_EQ(table[U'½'], kNumber);  // No
  EXPECT_EQ(table[U'Ⅳ'], kNumber);  // Nl
  EXPECT_EQ(table[U'٣'], kNumber);  // Arabic-Indic three
  EXPECT_EQ(table[U'\n'], kSpace | kLineBreak | kControl);
  EXPECT_EQ(table[U'\u0301'], kNonspacingMark);
  EXPECT_EQ(table[U'¿'], kPunctuation);
  EXPECT_EQ(table[U'$'], kPunctuation);  // a symbol to Unicode
  EXPECT_EQ(table[U'€'], 0);
  EXPECT_EQ(table[U'😀'], 0);
  EXPECT_EQ(table[U'\u200D'], kControl);  // zero width joiner, Cf
}

TEST(Unicode, DecomposesAndOrders) {
  EXPECT_EQ(decompose("é"), "e\u0301");
  EXPECT_EQ(decompose("ǖ"), "u\u0308\u0304");
  EXPECT_EQ(decompose("각"), "\u1100\u1161\u11A8");        // Hangul by arithmetic
  EXPECT_EQ(decompose("a\u0301\u0323"), "a\u0323\u0301");  // the mark below first: classes 220 and 230
  EXPECT_EQ(decompose("ﬁ½"), "ﬁ½");                        // compatibility only: left alone
}

TEST(Unicode, Composes) {
  EXPECT_EQ(compose("e\u0301"), "é");
  EXPECT_EQ(compose("\u1100\u1161\u11A8"), "각");
  EXPECT_EQ(compose("a\u0301\u0323"), "\u1EA1\u0301");  // the mark below goes with the letter
  EXPECT_EQ(compose("\u2126 plain"), "\u03A9 plain");   // the sign of ohm is a letter
}

TEST(Unicode, LowersCharacterByCharacter) {
  const auto lower = [](std::u32string_view text) {
    std::string result;
    for (const char32_t character : text) append_lower(character, result);
    return result;
  };
  EXPECT_EQ(lower(U"ÀÉ"), "àé");
  EXPECT_EQ(lower(U"ΣΑΣ"), "σασ");
  EXPECT_EQ(lower(U"\u0130"), "i\u0307");
  EXPECT_EQ(lower(U"東"), "東");
}

}  // namespace
}  // namespace nadi::inline files
