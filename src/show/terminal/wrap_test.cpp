#include "nadi/terminal/wrap.h"

#include <gtest/gtest.h>

namespace nadi::inline show {
namespace {

TEST(Wrap, CountsColumns) {
  EXPECT_EQ(columns_of("abc"), 3);
  EXPECT_EQ(columns_of("12 µs"), 5);
  EXPECT_EQ(columns_of("\033[1;31merror:\033[0m x"), 8);
}

TEST(Wrap, ContinuesLinesBelowTheirText) {
  EXPECT_EQ(wrapped_line("short", 10), "short");
  EXPECT_EQ(wrapped_line("one two three four", 10), "one two\n  three\n  four");
  EXPECT_EQ(wrapped_line("  hint: one two three", 16), "  hint: one two\n        three");
  EXPECT_EQ(wrapped_line("memory  one two three", 16), "memory  one two\n        three");
  EXPECT_EQ(wrapped_line("\033[1merror:\033[0m one two", 11), "\033[1merror:\033[0m one\n       two");
  // A label that leaves less than half of the width is text.
  EXPECT_EQ(wrapped_line("a long label  one two", 16), "a long label one\n  two");
}

TEST(Wrap, BreaksOnlyWordsThatFillALine) {
  EXPECT_EQ(wrapped_line("see /usr/share/doc/nadi/x", 14), "see\n  /usr/share/\n  doc/nadi/x");
  EXPECT_EQ(wrapped_line("abcdefghijkl", 8), "abcdefgh\n  ijkl");
}

TEST(Wrap, Labelled) {
  EXPECT_EQ(labelled("a", 4, {"bb", "cc", "dd"}, 9), "a   bb cc\n    dd\n");
  EXPECT_EQ(labelled("a", 30, {"bb", "cc"}, 10), "a    bb cc\n") << "at most half of the width is for labels";
  EXPECT_EQ(labelled("a", 2, {"one two three"}, 9), "a one two\n  three\n") << "a word with spaces";
}

TEST(Wrap, CommandsCanBeCopied) {
  EXPECT_EQ(wrapped_command("nadi show gpt2", 2, 40), "  nadi show gpt2\n");
  EXPECT_EQ(wrapped_command("nadi show gpt2 --batch-size 4 --seq-length 512", 2, 32),
            "  nadi show gpt2 \\\n      --batch-size 4 \\\n      --seq-length 512\n");
  EXPECT_EQ(wrapped_command("nadi draw 'a b' -o c.svg", 0, 20), "nadi draw 'a b' \\\n    -o c.svg\n");
}

TEST(Wrap, CutsLinesAtWords) {
  EXPECT_EQ(cut_line("1 of 9 trials, 3 s left", 23), "1 of 9 trials, 3 s left");
  EXPECT_EQ(cut_line("1 of 9 trials, 3 s left", 22), "1 of 9 trials, 3 s ...");
  EXPECT_EQ(cut_line("1 of 9 trials, 3 s left", 18), "1 of 9 trials ...");
  EXPECT_EQ(cut_line("abcdefghij", 8), "abcde...");
}

}  // namespace
}  // namespace nadi::inline show
