#include "nadi/tables/text_table.h"

#include <gtest/gtest.h>

#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

TEST(TextTable, AlignsColumnsByCharacters) {
  TextTable table({{"name", Align::kLeft}, {"n", Align::kRight}, {"", Align::kLeft}});
  table.add_row({"a", "1,000", "x"});
  table.add_row({"µµµµµ", "2", ""});  // five characters, ten bytes
  table.add_rule();
  table.add_row({"sum", "1,002", ""});
  EXPECT_EQ(table.to_string(),
            "name       n\n"
            "a      1,000  x\n"
            "µµµµµ      2\n"
            "---------------\n"  // 5 + 2 + 5 + 2 + 1
            "sum    1,002\n");
}

TEST(TextTable, TitlesAreBoldOnRequest) {
  EXPECT_EQ(TextTable({{"a", Align::kLeft}, {"b", Align::kLeft}}).to_string({.bold_titles = true}),
            "\033[1ma  b\033[0m\n");
}

// 10 + 2 + 2 + 2 + 2 = 18 columns.
TEST(TextTable, StacksRowsWhereItIsTooWide) {
  TextTable table({{"op", Align::kLeft}, {"ms"}, {""}});
  table.add_row({"gemm", "10", "5%"});
  table.add_rule();
  table.add_row({"sum of all", "10", ""});
  EXPECT_EQ(table.to_string({.width = 18}),
            "op          ms\n"
            "gemm        10  5%\n"
            "------------------\n"
            "sum of all  10\n");
  EXPECT_EQ(table.to_string({.width = 17}),
            "op  gemm\n"
            "ms  10 5%\n"
            "\n"
            "op  sum of all\n"
            "ms  10\n");
  EXPECT_EQ(table.to_string({.width = 10}), "op  gemm\nms  10 5%\n\nop  sum of\n    all\nms  10\n");
}

TEST(Wrap, ContinuesBelowTheFirstWord) {
  EXPECT_EQ(labelled("a", 4, {"b", "c"}), "a   b c\n");
  EXPECT_EQ(labelled("long", 4, {"b"}), "long\n    b\n");
  // 4 + 50 + 1 + 45 = 100 fits, one more does not.
  EXPECT_EQ(labelled("a", 4, {std::string(50, 'b'), std::string(45, 'c')}),
            "a   " + std::string(50, 'b') + " " + std::string(45, 'c') + "\n");
  EXPECT_EQ(labelled("a", 4, {std::string(50, 'b'), std::string(46, 'c')}),
            "a   " + std::string(50, 'b') + "\n    " + std::string(46, 'c') + "\n");
}

TEST(Wrap, JoinsAndSplits) {
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(words_of("  a bc  d "), (std::vector<std::string>{"a", "bc", "d"}));
}

}  // namespace
}  // namespace nadi::inline show
