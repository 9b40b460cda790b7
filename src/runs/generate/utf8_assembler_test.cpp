#include "nadi/generate/utf8_assembler.h"

#include <gtest/gtest.h>

#include "nadi/text/utf8.h"

namespace nadi::inline runs {
namespace {

#define REPLACEMENT "\xEF\xBF\xBD"

TEST(Utf8Assembler, HoldsBytesBackUntilTheCharacterIsComplete) {
  Utf8Assembler characters;
  EXPECT_EQ(characters.add("a\xE6\x9D"), "a");
  EXPECT_EQ(characters.add("\xB1"), "\u6771");
  EXPECT_EQ(characters.add("\xF0"), "");
  EXPECT_EQ(characters.add("\x9F\x98"), "");
  EXPECT_EQ(characters.add("\x80!"), "\U0001F600!");
  EXPECT_EQ(characters.finish(), "");
}

TEST(Utf8Assembler, ReplacesAnIncompleteEnd) {
  Utf8Assembler characters;
  EXPECT_EQ(characters.add("a\xE6\x9D"), "a");
  EXPECT_EQ(characters.finish(), REPLACEMENT);
  EXPECT_EQ(characters.finish(), "");
}

// The right sides are what Python's bytes.decode("utf-8", "replace") gives.
TEST(Utf8Assembler, ReplacesWhatIsNoCharacter) {
  struct Case {
    const char* bytes;
    const char* text;
  };
  for (const auto& [bytes, text] : {
           Case{"\x80", REPLACEMENT},
           Case{"a\xFF"
                "b",
                "a" REPLACEMENT "b"},
           Case{"\xE6\x9D"
                "a",
                REPLACEMENT "a"},
           Case{"\xE6\xE6\x9D\xB1", REPLACEMENT "\u6771"},
           Case{"\xC0\x80", REPLACEMENT REPLACEMENT},
           Case{"\xE0\x80\x80", REPLACEMENT REPLACEMENT REPLACEMENT},
           Case{"\xED\xA0\x80", REPLACEMENT REPLACEMENT REPLACEMENT},
           Case{"\xF4\x90\x80\x80", REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT},
           Case{"\xF1\x80\x80"
                "a",
                REPLACEMENT "a"},
           Case{"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
           Case{"\xED\x9F\xBF\xEE\x80\x80", "\xED\x9F\xBF\xEE\x80\x80"},
       }) {
    Utf8Assembler whole;
    std::string all = whole.add(bytes);
    EXPECT_EQ(all + whole.finish(), text);
    Utf8Assembler in_pieces;
    std::string pieces;
    for (const char* byte = bytes; *byte != 0; ++byte) pieces += in_pieces.add({byte, 1});
    EXPECT_EQ(pieces + in_pieces.finish(), text);
    EXPECT_EQ(find_invalid_utf8(text), std::string::npos);
  }
}

}  // namespace
}  // namespace nadi::inline runs
