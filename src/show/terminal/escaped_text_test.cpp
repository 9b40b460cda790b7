#include "nadi/terminal/escaped_text.h"

#include <gtest/gtest.h>

namespace nadi::inline show {
namespace {

std::string escaped(std::string_view text) {
  std::string half;
  return escaped_text(text, half) + half;
}

TEST(EscapedText, ControlBytesAreShown) {
  EXPECT_EQ(escaped("a\tb\r\nc\n"), "a\tb\nc\n");
  EXPECT_EQ(escaped("\033[2J\033]0;title\a"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(escaped("10%\r20%"), "10%\\x0d20%");
  EXPECT_EQ(escaped("M\u00fcller \u2026 \u4f60"), "M\u00fcller \u2026 \u4f60");
  EXPECT_EQ(escaped("\x9b"
                    "31m \xc2\x9b"
                    "31m \x7f"),
            "\\x9b31m \\xc2\\x9b31m \\x7f");
  EXPECT_EQ(escaped(std::string_view("\0", 1)), "\\x00");
}

TEST(EscapedText, ACharacterMayBeCutByTheEndOfABlock) {
  const std::string text = "x\u4f60\r\n\u00fc";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    std::string half;
    const std::string first = escaped_text(std::string_view(text).substr(0, cut), half);
    EXPECT_EQ(first + escaped_text(std::string_view(text).substr(cut), half), "x\u4f60\n\u00fc") << cut;
    EXPECT_EQ(half, "");
  }
}

}  // namespace
}  // namespace nadi::inline show
