#include "nadi/trace/string_table.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace nadi::inline traces {
namespace {

TEST(StringTable, NumbersTextsInTheOrderOfFirstAppearance) {
  StringTable table;
  EXPECT_EQ(table.intern(""), 0u);
  EXPECT_EQ(table.intern("a"), 1u);
  EXPECT_EQ(table.intern("b"), 2u);
  EXPECT_EQ(table.intern("a"), 1u);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.find("b"), 2u);
  EXPECT_EQ(table.find("c"), std::nullopt);
  EXPECT_EQ(table.find(""), 0u);
}

TEST(StringTable, TextsStayInPlaceAsItGrowsAndMoves) {
  StringTable table;
  const std::string_view first = table.text(table.intern("the first"));
  for (int i = 0; i < 10000; ++i) EXPECT_EQ(table.intern(std::to_string(i)), 2u + static_cast<unsigned>(i));
  const StringTable moved = std::move(table);
  EXPECT_EQ(moved.text(1).data(), first.data());
  EXPECT_EQ(first, "the first");
  for (int i = 0; i < 10000; ++i) EXPECT_EQ(moved.text(*moved.find(std::to_string(i))), std::to_string(i));
}

// Every length goes another way through the hash; texts that differ in one byte are different texts.
TEST(StringTable, TellsTextsOfAllLengthsApart) {
  StringTable table;
  std::uint32_t next = 1;
  for (std::size_t size = 1; size <= 70; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text[at] = 'b';
      EXPECT_EQ(table.intern(text), next);
      EXPECT_EQ(table.find(text), next);
      ++next;
    }
  }
  EXPECT_EQ(table.find(std::string(70, 'a')), std::nullopt);
}

}  // namespace
}  // namespace nadi::inline traces
