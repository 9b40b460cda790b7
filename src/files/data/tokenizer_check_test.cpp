#include "nadi/data/tokenizer_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/data/byte_tokenizer_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;

TEST(TokenizerCheck, VocabularyOfTheModelHoldsAllTokens) {
  const ByteTokenizer tokenizer = ByteTokenizer::gpt2();  // 257 tokens
  EXPECT_NO_THROW(check_vocabulary(tokenizer, 257));
  EXPECT_NO_THROW(check_vocabulary(tokenizer, 320));
  try {
    check_vocabulary(tokenizer, 256);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.message(), HasSubstr("257 tokens"));
    EXPECT_THAT(error.message(), HasSubstr("has 256"));
    EXPECT_THAT(error.hint(), HasSubstr("vocab_size to 257"));
  }
}

TEST(TokenizerCheck, NamesTheSpecialTokensThatAreMissing) {
  EXPECT_NO_THROW(check_special_tokens(ByteTokenizer::gpt2(), Objective::kNextToken));
  EXPECT_NO_THROW(check_special_tokens(ByteTokenizer::bert(), Objective::kMaskedToken));
  try {
    const ByteTokenizer tokenizer({.classify = 256, .separate = 257}, 258);
    check_special_tokens(tokenizer, Objective::kMaskedToken);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.message(), "the tokenizer has no [MASK]: BERT needs that");
  }
  try {
    check_special_tokens(ByteTokenizer::gpt2(), Objective::kMaskedToken);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "the tokenizer has no [CLS], no [SEP], no [MASK]: BERT needs that");
  }
}

// All that it has is special.
class SpecialOnly : public ByteTokenizer {
 public:
  SpecialOnly() : ByteTokenizer(bert()) {}
  bool is_special(TokenId /*id*/) const override { return true; }
};

TEST(TokenizerCheck, RefusesATokenizerOfSpecialTokensOnly) {
  EXPECT_THROW(check_special_tokens(SpecialOnly(), Objective::kMaskedToken), Error);
}

}  // namespace
}  // namespace nadi::inline files
