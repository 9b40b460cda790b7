#include "nadi/text/bert_normalizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nadi::inline files {
namespace {

using testing::ElementsAre;

TEST(BertNormalizer, Uncased) {
  const BertNormalizer normalizer({});
  EXPECT_EQ(normalizer.normalize("Héllo\tWÖRLD\n"), "hello world ");
  EXPECT_EQ(normalizer.normalize("e\u0301"), "e");  // an accent of its own
  EXPECT_EQ(normalizer.normalize("a\u200Db\u0000c\uFFFD\x7F"
                                 "d"),
            "ab");  // what follows a zero byte is no part of this literal
  EXPECT_EQ(normalizer.normalize(std::string_view("a\0b\v\fc", 6)), "abc");
  EXPECT_EQ(normalizer.normalize("x\u00A0y\u3000z"), "x y z");
  EXPECT_EQ(normalizer.normalize("東京x"), " 東  京 x");
  EXPECT_EQ(normalizer.normalize("İΣß"), "iσß");
}

TEST(BertNormalizer, CasedKeepsCaseAndAccents) {
  const BertNormalizer normalizer({.lower_case = false});
  EXPECT_EQ(normalizer.normalize("Héllo\tWÖRLD 東"), "Héllo WÖRLD  東 ");
}

TEST(BertNormalizer, EachStepHasItsSwitch) {
  EXPECT_EQ(BertNormalizer({.strip_accents = false}).normalize("HÉ İ"), "hé i\u0307");
  EXPECT_EQ(BertNormalizer({.strip_accents = true, .lower_case = false}).normalize("HÉ"), "HE");
  EXPECT_EQ(BertNormalizer({.clean_text = false}).normalize("a\tb\u200D"), "a\tb\u200D");
  EXPECT_EQ(BertNormalizer({.separate_ideographs = false}).normalize("東京"), "東京");
}

TEST(BertWords, PunctuationStandsAlone) {
  const auto words = [](std::string_view text) {
    std::vector<std::string> found;
    for_each_word(character_table(), text, [&](std::string_view word) { found.emplace_back(word); });
    return found;
  };
  EXPECT_THAT(words(""), ElementsAre());
  EXPECT_THAT(words("  "), ElementsAre());
  EXPECT_THAT(words("it's $5.00"), ElementsAre("it", "'", "s", "$", "5", ".", "00"));
  EXPECT_THAT(words("¿qué? a\u3000b€"), ElementsAre("¿", "qué", "?", "a", "b€"));
}

}  // namespace
}  // namespace nadi::inline files
