#include "nadi/base/message_text.h"

#include <gtest/gtest.h>

#include <string>

namespace nadi::inline ground {
namespace {

TEST(QuoteForMessage, LeavesPrintableTextAlone) {
  EXPECT_EQ(quote_for_message("aten::mm"), "'aten::mm'");
  EXPECT_EQ(quote_for_message(""), "''");
  EXPECT_EQ(quote_for_message("größe 大 😀"), "'größe 大 😀'");
}

TEST(QuoteForMessage, EscapesWhatWouldActOnTheTerminal) {
  EXPECT_EQ(quote_for_message("a\nb\tc\rd"), "'a\\nb\\tc\\x0dd'");
  EXPECT_EQ(quote_for_message("\x1b[31mred"), "'\\x1b[31mred'");
  EXPECT_EQ(quote_for_message("it's \\"), "'it\\'s \\\\'");
  EXPECT_EQ(quote_for_message("\x7f"), "'\\x7f'");
  EXPECT_EQ(quote_for_message("\xc2\x9b"
                              "31m"),
            "'\\xc2\\x9b31m'");  // U+009B, the one-character form of ESC [
}

TEST(QuoteForMessage, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(quote_for_message("\x9b"), "'\\x9b'");                    // a lone continuation byte
  EXPECT_EQ(quote_for_message("\xe5\xa4"), "'\\xe5\\xa4'");           // three-byte character cut short
  EXPECT_EQ(quote_for_message("\xc0\xaf"), "'\\xc0\\xaf'");           // overlong '/'
  EXPECT_EQ(quote_for_message("\xed\xa0\x80"), "'\\xed\\xa0\\x80'");  // half of a surrogate pair
}

TEST(QuoteForMessage, CutsLongTexts) {
  EXPECT_EQ(quote_for_message(std::string(80, 'x')), "'" + std::string(80, 'x') + "'");
  EXPECT_EQ(quote_for_message(std::string(81, 'x')),
            "'" + std::string(40, 'x') + "…" + std::string(39, 'x') + "'");
}

}  // namespace
}  // namespace nadi::inline ground
