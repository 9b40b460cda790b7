#include "nadi/text/wordpiece_trainer.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/text/tokenizers_for_tests.h"

namespace nadi::inline files {
namespace {

using Ids = std::vector<TokenId>;
using Texts = std::vector<std::string>;

std::unique_ptr<Tokenizer> train(const Texts& documents, const WordPieceTrainingOptions& options) {
  return train_wordpiece(text_of(documents), options);
}

std::string vocabulary_of(const Tokenizer& tokenizer) {
  for (const auto& [name, contents] : tokenizer.files()) {
    if (name == "vocab.txt") return contents;
  }
  return "none";
}

const std::string kSpecials = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";

TEST(WordPieceTrainer, SpecialsThenLettersThenMerges) {
  // Words: abc 3 times, bc once. Letters a, b; ##b, ##c. Pairs: a ##b 3, ##b ##c 3, b ##c 1. The first of the
  // two by number: "ab", then "abc". b ##c is too rare.
  const auto tokenizer = train({"Abc ÁBC abc bc"}, {.vocabulary_size = 100});
  EXPECT_EQ(vocabulary_of(*tokenizer), kSpecials + "a\nb\n##b\n##c\nab\nabc\n");
  EXPECT_EQ(tokenizer->encode("abc bc cab"), (Ids{10, 6, 8, 1}));
  EXPECT_EQ(tokenizer->special_tokens().padding, 0);
  EXPECT_EQ(tokenizer->special_tokens().unknown, 1);
  EXPECT_EQ(tokenizer->special_tokens().mask, 4);
}

TEST(WordPieceTrainer, StopsAtTheSizeAskedFor) {
  EXPECT_EQ(vocabulary_of(*train({"abc abc abc bc"}, {.vocabulary_size = 10})),
            kSpecials + "a\nb\n##b\n##c\nab\n");
  // ##c 4 times; a, ##b 3 times each, of which a comes first.
  EXPECT_EQ(vocabulary_of(*train({"abc abc abc bc"}, {.vocabulary_size = 7})), kSpecials + "a\n##c\n");
  EXPECT_EQ(train({}, {})->vocabulary_size(), 5);
}

TEST(WordPieceTrainer, RareLettersAreLeftOut) {
  const auto tokenizer = train({"ab ab ab z"}, {.vocabulary_size = 100, .alphabet_limit = 2});
  EXPECT_EQ(vocabulary_of(*tokenizer), kSpecials + "a\n##b\nab\n");
  EXPECT_EQ(tokenizer->encode("ab z"), (Ids{7, 1}));
}

TEST(WordPieceTrainer, SpecialTokensAreNotText) {
  EXPECT_EQ(vocabulary_of(*train({"[CLS]ab[SEP]ab[MASK]"}, {.vocabulary_size = 100})),
            kSpecials + "a\n##b\nab\n");
}

TEST(WordPieceTrainer, Cased) {
  const auto tokenizer = train({"Ab Ab ab"}, {.vocabulary_size = 100, .normalizer = {.lower_case = false}});
  EXPECT_EQ(vocabulary_of(*tokenizer), kSpecials + "A\na\n##b\nAb\n");
  const TemporaryFolder folder;
  write_files(folder, tokenizer->files());
  EXPECT_EQ(load_tokenizer(folder.path())->encode("Ab ab"), (Ids{8, 6, 7}));
}

TEST(WordPieceTrainer, LearntTextHasNoUnknownWords) {
  Texts documents;
  for (std::uint32_t seed = 0; seed < 100; ++seed) documents.push_back(random_text(seed, 30));
  const auto tokenizer = train(documents, {.vocabulary_size = 20000, .alphabet_limit = 20000});
  for (const std::string& document : documents) {
    for (const TokenId id : tokenizer->encode(document)) ASSERT_NE(id, 1);
  }
}

TEST(WordPieceTrainer, RefusesWhatCannotBe) {
  for (const WordPieceTrainingOptions& options :
       {WordPieceTrainingOptions{.vocabulary_size = 5}, WordPieceTrainingOptions{.vocabulary_size = 1 << 22},
        WordPieceTrainingOptions{.minimum_count = 0}, WordPieceTrainingOptions{.alphabet_limit = 0}}) {
    try {
      train({"text"}, options);
      FAIL() << "no Error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    }
  }
  EXPECT_THROW(train({"not \xFF"}, {}), Error);
}

}  // namespace
}  // namespace nadi::inline files
