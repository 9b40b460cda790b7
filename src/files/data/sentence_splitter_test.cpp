#include "nadi/data/sentence_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "nadi/data/indexed_dataset.h"
#include "nadi/data/real_tokenizers_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string_view> split(std::string_view text, SentenceGap gap = SentenceGap::kDropped) {
  std::vector<std::string_view> sentences;
  split_sentences(text, gap, sentences);
  return sentences;
}

class SentenceSplitterTest : public testing::TestWithParam<std::string_view> {};

// "|" stands for the space where the text is to be cut.
TEST_P(SentenceSplitterTest, CutsWhereSentencesEnd) {
  std::string text(GetParam());
  std::vector<std::string> expected(1);
  for (char& byte : text) {
    if (byte == '|') {
      byte = ' ';
      expected.emplace_back();
    } else {
      expected.back() += byte;
    }
  }
  const auto sentences = split(text);
  EXPECT_EQ(std::vector<std::string>(sentences.begin(), sentences.end()), expected);
}

INSTANTIATE_TEST_SUITE_P(Stops, SentenceSplitterTest,
                         testing::Values("One sentence.", "No stop at all", "It rained.|Then it did not.",
                                         "Really?|Yes!|Good.", "What?!|No way...|Well.",
                                         "It ended in 1998.|A year later it began again.",
                                         "It cost 5.|3 of them were sold.",
                                         "Version 3.14 of example.com is out.|Get it.",
                                         "He paused ... and went on.", "Yahoo! was bought.|Yes.",
                                         "Elle est partie. à demain.|Oui."));
INSTANTIATE_TEST_SUITE_P(Quotes, SentenceSplitterTest,
                         testing::Values("\"Why?\" he asked.|Nobody knew.", "He said \"Stop.\"|She did not.",
                                         "(It was late.)|They left.",
                                         "He wrote \u201CThe end.\u201D|Then he slept.",
                                         "He left.|\"Good,\" she said.", "He left.|(She did not.)",
                                         "[[The arrow (5F). ]] Usage."));
INSTANTIATE_TEST_SUITE_P(Abbreviations, SentenceSplitterTest,
                         testing::Values("Dr. No met Mr. Bond at St. James.|He won.",
                                         "J. R. R. Tolkien wrote it.|So did C. S. Lewis.",
                                         "The U.S. Congress met.|It left the U.S.|The end.",
                                         "Apples, pears, etc. Nothing else.|Apples etc.|The rest is sold.",
                                         "Fruit (e.g. Apples) is good.|Yes.",
                                         "Acme Inc. Chairman Smith left Acme Inc.|He was tired.",
                                         "In Roe v. Wade it was decided.|Later it was not.",
                                         "It opens at 9 a.m. Monday.|It closes at 5 p.m.|They go."));
INSTANTIATE_TEST_SUITE_P(Numbers, SentenceSplitterTest,
                         testing::Values("See No. 5 and p. 12.|Then go.", "I said no.|Five times.",
                                         "On Jan. 3 it snowed.|On Feb. 4, too.", "1. First item.|2. Second.",
                                         "A. First item.|B. Second."));

TEST(SentenceSplitter, WhiteSpace) {
  // A line break without a stop ends nothing; white space in front stays.
  EXPECT_THAT(split(" A title\n\nA text.\n\n\tMore. \n"), ElementsAre(" A title\n\nA text.", "More."));
  EXPECT_THAT(split(" A title\n\nA text.\n\n\tMore. \n", SentenceGap::kKept),
              ElementsAre(" A title\n\nA text.\n\n\t", "More. \n"));
  for (const SentenceGap gap : {SentenceGap::kDropped, SentenceGap::kKept}) {
    EXPECT_THAT(split("", gap), IsEmpty());
    EXPECT_THAT(split(" \n", gap), IsEmpty());
    EXPECT_THAT(split(".", gap), ElementsAre("."));
  }
}

// The tokens of many sentences, one behind the other, and whether a sentence ends with each.
struct Stream {
  std::vector<TokenId> tokens;
  std::vector<bool> ends;
};

// Two snapshots of the same articles of an encyclopedia: one as text (GPT-2's tokens), one cut into sentences
// by punkt (BERT's). They differ in places, so cuts are compared where 8 tokens in front of a place and 6
// behind it are in both texts, and once only.
TEST(SentenceSplitter, MostlyAgreesWithPunkt) {
  const auto gpt2 = real_gpt2_for_tests();
  const auto bert = real_bert_for_tests();
  const std::string texts = real_dataset_for_tests("my-gpt2_text_document");
  const std::string sentences = real_dataset_for_tests("my-bert_text_sentence");
  if (!gpt2 || !bert || texts.empty() || sentences.empty()) GTEST_SKIP() << "the real files are not here";

  Stream ours, punkt;
  const IndexedDataset documents(texts);
  for (std::int64_t i = 0; i < documents.sequences(); ++i) {
    std::vector<TokenId> tokens = documents.tokens(i);
    tokens.pop_back();  // the end of the document
    const std::string text = gpt2->decode(tokens);
    for (const std::string_view sentence : split(text)) {
      bert->encode(sentence, ours.tokens);
      ours.ends.resize(ours.tokens.size());
      if (!ours.ends.empty()) ours.ends.back() = true;
    }
  }
  const IndexedDataset cut(sentences);
  for (std::int64_t i = 0; i < cut.sequences(); ++i) {
    for (const TokenId token : cut.tokens(i)) punkt.tokens.push_back(token);
    punkt.ends.resize(punkt.tokens.size());
    punkt.ends.back() = true;
  }

  constexpr std::size_t kBefore = 8, kAfter = 6;
  const auto around = [](const Stream& stream, std::size_t at) {
    const auto here = stream.tokens.begin() + static_cast<std::ptrdiff_t>(at);
    return std::vector<TokenId>(here - kBefore, here + kAfter);
  };
  std::map<std::vector<TokenId>, std::vector<std::size_t>> places;
  for (std::size_t at = kBefore; at + kAfter <= ours.tokens.size(); ++at)
    if (ours.ends[at - 1]) places[around(ours, at)];
  for (std::size_t at = kBefore; at + kAfter <= punkt.tokens.size(); ++at)
    if (punkt.ends[at - 1]) places[around(punkt, at)];
  for (std::size_t at = kBefore; at + kAfter <= ours.tokens.size(); ++at)
    if (const auto place = places.find(around(ours, at)); place != places.end()) place->second.push_back(at);
  int both = 0, only_ours = 0, only_punkt = 0;
  for (std::size_t at = kBefore; at + kAfter <= punkt.tokens.size(); ++at) {
    const auto place = places.find(around(punkt, at));
    if (place == places.end() || place->second.size() != 1) continue;
    const bool cut_here = ours.ends[place->second[0] - 1];
    both += cut_here && punkt.ends[at - 1];
    only_ours += cut_here && !punkt.ends[at - 1];
    only_punkt += !cut_here && punkt.ends[at - 1];
  }
  RecordProperty("both", both);
  RecordProperty("only_ours", only_ours);
  RecordProperty("only_punkt", only_punkt);
  EXPECT_GT(both, 6000);
  EXPECT_LT(only_ours, 20);    // mostly behind one-letter words
  EXPECT_LT(only_punkt, 120);  // mostly behind "No." and "etc.", where punkt is wrong
}

}  // namespace
}  // namespace nadi::inline files
