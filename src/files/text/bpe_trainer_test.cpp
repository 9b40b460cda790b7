#include "nadi/text/bpe_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/text/tokenizers_for_tests.h"

namespace nadi::inline files {
namespace {

using Ids = std::vector<TokenId>;
using Texts = std::vector<std::string>;

std::unique_ptr<Tokenizer> train(const Texts& documents, const BpeTrainingOptions& options) {
  return train_bpe(text_of(documents), options);
}

TEST(BpeTrainer, LearnsTheMostFrequentPairsFirst) {
  // Pieces: "ab" once, " ab" 3 times, " cd" twice. "ab" 4 times: 256. Then " "+"ab" 3: 257. Then "cd" and "
  // c" both 2: c has a smaller number than the space, so "cd": 258; then " cd": 259.
  const Texts documents{"ab ab ab ab cd cd"};
  const auto tokenizer = train(documents, {.vocabulary_size = 300});
  EXPECT_EQ(tokenizer->vocabulary_size(), 261);  // 256 bytes, 4 merges, <|endoftext|>
  EXPECT_EQ(tokenizer->decode(Ids{256, 257, 258, 259, 260}), "ab abcd cd<|endoftext|>");
  EXPECT_EQ(tokenizer->encode("ab ab cd<|endoftext|>"), (Ids{256, 257, 259, 260}));
  EXPECT_EQ(tokenizer->special_tokens().end, 260);
}

TEST(BpeTrainer, StopsAtTheSizeAskedFor) {
  const Texts documents{"ab ab ab ab cd cd"};
  const auto tokenizer = train(documents, {.vocabulary_size = 258});
  EXPECT_EQ(tokenizer->vocabulary_size(), 258);
  EXPECT_EQ(tokenizer->decode(Ids{256, 257}), "ab<|endoftext|>");
  EXPECT_EQ(train(documents, {.vocabulary_size = 257})->vocabulary_size(), 257);
  EXPECT_EQ(train({}, {.vocabulary_size = 1000})->vocabulary_size(), 257);
}

TEST(BpeTrainer, RarePairsAreNotMerged) {
  const Texts documents{"ab ab ab ab cd cd"};
  EXPECT_EQ(train(documents, {.vocabulary_size = 300, .minimum_count = 4})->vocabulary_size(),
            258);  // "ab" only
}

TEST(BpeTrainer, EndOfTextIsNotText) {
  const Texts documents{"<|endoftext|><|endoftext|><|endoftext|>"};
  EXPECT_EQ(train(documents, {})->vocabulary_size(), 257);
}

TEST(BpeTrainer, TheOrderOfDocumentsDoesNotMatter) {
  Texts documents;
  for (std::uint32_t seed = 0; seed < 100; ++seed) documents.push_back(random_text(seed, 200));
  const auto forwards = train(documents, {.vocabulary_size = 500});
  std::reverse(documents.begin(), documents.end());
  EXPECT_EQ(forwards->files(), train(documents, {.vocabulary_size = 500})->files());
  EXPECT_EQ(forwards->vocabulary_size(), 500);
  for (const std::string& document : documents)
    EXPECT_EQ(forwards->decode(forwards->encode(document)), document);
}

TEST(BpeTrainer, IsWrittenAndReadAgain) {
  const auto tokenizer = train({"hello hello hello world world"}, {.vocabulary_size = 280});
  const TemporaryFolder folder;
  write_files(folder, tokenizer->files());
  const auto again = load_tokenizer(folder.path());
  EXPECT_EQ(again->files(), tokenizer->files());
  EXPECT_EQ(again->encode("hello world"), tokenizer->encode("hello world"));
}

TEST(BpeTrainer, RefusesWhatCannotBe) {
  for (const BpeTrainingOptions& options :
       {BpeTrainingOptions{.vocabulary_size = 256}, BpeTrainingOptions{.vocabulary_size = 1 << 22},
        BpeTrainingOptions{.minimum_count = 0}}) {
    try {
      train({"text"}, options);
      FAIL() << "no Error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    }
  }
  try {
    train({"fine", "not \xFF"}, {});
    FAIL() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().byte, 4);
  }
}

}  // namespace
}  // namespace nadi::inline files
