#include "nadi/base/shorten.h"

#include <gtest/gtest.h>

namespace nadi::inline ground {
namespace {

TEST(Shorten, ShortTextsStayAsTheyAre) {
  EXPECT_EQ(shorten_middle(""), "");
  EXPECT_EQ(shorten_middle("aten::mm"), "aten::mm");
  EXPECT_EQ(shorten_middle(std::string(kLongestName, 'x')), std::string(kLongestName, 'x'));
}

TEST(Shorten, TheMiddleGivesWay) {
  // 9 characters: 4 of the start, the mark, 4 of the end.
  EXPECT_EQ(shorten_middle("void kernel<float>()", 9), "void…t>()");
  EXPECT_EQ(shorten_middle("void kernel<float>()", 10), "void …t>()");
  EXPECT_EQ(shorten_middle("abc", 1), "…");
  EXPECT_EQ(shorten_middle("abc", 2), "a…");
  EXPECT_EQ(shorten_middle("abc", 0), "");
}

TEST(Shorten, NamesThatDifferAtTheirEndsStayDistinct) {
  const std::string start = "void at::native::vectorized_elementwise_kernel<4, " + std::string(300, 'T');
  EXPECT_NE(shorten_middle(start + "float>"), shorten_middle(start + "half>"));
  EXPECT_EQ(shorten_middle(start + "float>").size(), kLongestName - 1 + std::string_view("…").size());
}

TEST(Shorten, CharactersStayWhole) {
  // 8 characters of 2 bytes: 2 of the start, the mark, 1 of the end.
  EXPECT_EQ(shorten_middle("äöüßäöüß", 4), "äö…ß");
  EXPECT_EQ(shorten_middle("äöüß", 4), "äöüß");
  // Bytes that are no UTF-8 count one each.
  EXPECT_EQ(shorten_middle("\x80\x80\x80\x80\x80\x80", 3), "\x80…\x80");
}

}  // namespace
}  // namespace nadi::inline ground
