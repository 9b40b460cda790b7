#include "nadi/text/wordpiece_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/text/tokenizers_for_tests.h"

namespace nadi::inline files {
namespace {

using Ids = std::vector<TokenId>;

// The vocabulary of the tests that BERT was published with.
WordPieceVocabulary published_vocabulary() {
  WordPieceVocabulary vocabulary;
  vocabulary.tokens = {"[UNK]", "[CLS]", "[SEP]", "want", "##want", "##ed", "wa", "un", "runn", "##ing", ","};
  vocabulary.unknown = 0;
  for (TokenId id = 0; id < 3; ++id)
    vocabulary.added.push_back(
        {.text = vocabulary.tokens[static_cast<std::size_t>(id)], .id = id, .special = true});
  return vocabulary;
}

TEST(WordPieceTokenizer, EncodesAsBertsOwnTestsDo) {
  const auto tokenizer = make_wordpiece_tokenizer(published_vocabulary());
  EXPECT_EQ(tokenizer->encode("UNwant\u00E9d,running"), (Ids{7, 4, 5, 10, 8, 9}));
  EXPECT_EQ(tokenizer->encode("unwanted running"), (Ids{7, 4, 5, 8, 9}));
  EXPECT_EQ(tokenizer->encode("unwantedX running"), (Ids{0, 8, 9}));  // one piece unknown: the word is
  EXPECT_EQ(tokenizer->encode(""), Ids{});
}

TEST(WordPieceTokenizer, SpecialTokensStandInTheText) {
  const auto tokenizer = make_wordpiece_tokenizer(published_vocabulary());
  EXPECT_EQ(tokenizer->encode("[CLS]want[SEP]"), (Ids{1, 3, 2}));
  EXPECT_EQ(tokenizer->encode("[cls]"), (Ids{0, 0, 0}));  // not in this spelling: [ cls ]
  EXPECT_EQ(tokenizer->special_tokens().classify, 1);
  EXPECT_EQ(tokenizer->special_tokens().unknown, 0);
  EXPECT_EQ(tokenizer->special_tokens().mask, std::nullopt);
  EXPECT_TRUE(tokenizer->is_special(2));
  EXPECT_FALSE(tokenizer->is_special(3));
}

TEST(WordPieceTokenizer, LongWordsAreUnknown) {
  WordPieceVocabulary vocabulary = published_vocabulary();
  vocabulary.tokens.insert(vocabulary.tokens.end(), {"é", "##é", "x", "##x"});
  vocabulary.normalizer.strip_accents = false;
  const auto tokenizer = make_wordpiece_tokenizer(std::move(vocabulary));
  const auto repeated = [](std::string_view letter, int times) {
    std::string word;
    for (int i = 0; i < times; ++i) word += letter;
    return word;
  };
  EXPECT_EQ(tokenizer->encode(repeated("x", 100)).size(), 100u);
  EXPECT_EQ(tokenizer->encode(repeated("x", 101)), (Ids{0}));
  EXPECT_EQ(tokenizer->encode(repeated("é", 100)).size(), 100u);  // characters count, not bytes
  EXPECT_EQ(tokenizer->encode(repeated("é", 101)), (Ids{0}));
}

TEST(WordPieceTokenizer, AddedTokensMayBeNormalized) {
  WordPieceVocabulary vocabulary = published_vocabulary();
  vocabulary.tokens.emplace_back("Té X");  // 11
  vocabulary.added.push_back({.text = "Té X", .id = 11, .normalized = true});
  const auto tokenizer = make_wordpiece_tokenizer(std::move(vocabulary));
  EXPECT_EQ(tokenizer->encode("want TE x want té X"), (Ids{3, 11, 3, 11}));
  EXPECT_FALSE(tokenizer->is_special(11));
}

TEST(WordPieceTokenizer, DecodesWordsWithSpacesBetweenThem) {
  const auto tokenizer = make_wordpiece_tokenizer(published_vocabulary());
  EXPECT_EQ(tokenizer->decode(Ids{7, 4, 5, 10, 8, 9}), "unwanted, running");
  EXPECT_EQ(tokenizer->decode(Ids{4, 3}), "##want want");
  EXPECT_EQ(tokenizer->decode(Ids{}), "");
  EXPECT_THROW(tokenizer->decode(Ids{11}), Error);
}

TEST(WordPieceTokenizer, RefusesWhatIsNoText) {
  const auto tokenizer = make_wordpiece_tokenizer(published_vocabulary());
  EXPECT_THROW(tokenizer->encode("a\xC3"), Error);
}

TEST(RealBert, EncodesAsPublished) {
  const Tokenizer* bert = real_bert();
  if (bert == nullptr) GTEST_SKIP() << "BERT's vocabulary is not here";
  EXPECT_EQ(bert->vocabulary_size(), 30522);
  EXPECT_EQ(bert->special_tokens().padding, 0);
  EXPECT_EQ(bert->special_tokens().unknown, 100);
  EXPECT_EQ(bert->special_tokens().classify, 101);
  EXPECT_EQ(bert->special_tokens().separate, 102);
  EXPECT_EQ(bert->special_tokens().mask, 103);
  EXPECT_EQ(bert->encode("Hello, my dog is cute"), (Ids{7592, 1010, 2026, 3899, 2003, 10140}));
  EXPECT_EQ(bert->encode("Hello world!"), (Ids{7592, 2088, 999}));
  EXPECT_EQ(bert->decode(bert->encode("unaffable")), "unaffable");
  EXPECT_EQ(bert->encode("[MASK]"), (Ids{103}));
  EXPECT_EQ(bert->encode("[unused1]").size(), 4u);  // [ unused 1 ]: reserved, but no special token
}

// Sentences that Megatron-LM has tokenized; see AgreesWithMegatron in byte_level_tokenizer_test.cpp. Decoding
// loses spaces only, so that encoding gives the same again.
TEST(RealBert, AgreesWithMegatron) {
  const Tokenizer* bert = real_bert();
  const auto data = real_data();
  if (bert == nullptr || !data || !std::filesystem::exists(*data / "megatron"))
    GTEST_SKIP() << "BERT's vocabulary or Megatron's files are not here";
  const std::string tokens = read_text(*data / "megatron/my-bert_text_sentence.bin");
  Ids ids(tokens.size() / 2);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::uint16_t token = 0;
    std::memcpy(&token, tokens.data() + 2 * i, sizeof token);
    ids[i] = token;
  }
  ASSERT_EQ(ids.size(), 209527u);
  EXPECT_EQ(bert->encode(bert->decode(ids)), ids);
}

}  // namespace
}  // namespace nadi::inline files
