#include "nadi/generate/text_stream.h"

#include <gtest/gtest.h>

#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/text/utf8.h"
#include "nadi/text/wordpiece_trainer.h"

namespace nadi::inline runs {
namespace {

// The parts that a text comes in, a byte of it being a token.
std::vector<std::string> parts_of(const std::string& text, const std::string& stop = "") {
  const ByteTokenizer tokenizer = ByteTokenizer::gpt2();
  TextStream stream(tokenizer, {.stop = stop});
  std::vector<std::string> parts;
  for (const TokenId id : tokenizer.encode(text)) {
    if (stream.stopped()) break;
    parts.push_back(stream.add(id));
    EXPECT_EQ(find_invalid_utf8(parts.back()), std::string::npos);
  }
  parts.push_back(stream.finish());
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

using Parts = std::vector<std::string>;

TEST(TextStream, GivesWholeCharacters) {
  EXPECT_EQ(parts_of("a\u00E9!"), (Parts{"a", "", "\u00E9", "!", ""}));
  EXPECT_EQ(parts_of("a\xC3"), (Parts{"a", "", "\uFFFD"}));
}

TEST(TextStream, StopsBeforeTheText) {
  EXPECT_EQ(parts_of("a. b", ". "), (Parts{"a", "", "", ""}));
  EXPECT_EQ(joined(parts_of("one two", "two")), "one ");
  EXPECT_EQ(joined(parts_of("two", "two")), "");
  EXPECT_EQ(joined(parts_of("a\u00E9b", "\u00E9")), "a");
}

TEST(TextStream, GivesBackWhatWasNotTheTextToStopAt) {
  EXPECT_EQ(parts_of("a.b", ". "), (Parts{"a", "", ".b", ""}));
  EXPECT_EQ(parts_of("a.", ". "), (Parts{"a", "", "."}));
  // A new beginning within an old one: "aab" is in "aaab" from its second letter on.
  EXPECT_EQ(parts_of("aaab", "aab"), (Parts{"", "", "a", "", ""}));
  EXPECT_EQ(joined(parts_of("abac abad", "abad")), "abac ");
}

// A token may hold more than the text to stop at.
class WordTokenizer : public ByteTokenizer {
 public:
  WordTokenizer() : ByteTokenizer({}, 2) {}
  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    for (const TokenId id : ids) text += id == 0 ? "one. Two" : " three";
    return text;
  }
};

TEST(TextStream, StopsWithinAToken) {
  const WordTokenizer tokenizer;
  TextStream stream(tokenizer, {.stop = "."});
  EXPECT_EQ(stream.add(1), " three");
  EXPECT_FALSE(stream.stopped());
  EXPECT_EQ(stream.add(0), "one");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.add(1), "");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, ShowsTokensThatTheTokenizerLacksByNumber) {
  const WordTokenizer tokenizer;
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.add(1), " three");
  EXPECT_EQ(stream.add(2), "<2>");
  EXPECT_EQ(stream.add(1), " three");
}

// Spaces stand between tokens there.
TEST(TextStream, JoinsPiecesOfWordsAsTheTokenizerDoes) {
  const std::vector<std::string> documents{"the unknown river, the unknowable sea. able, able!"};
  const auto tokenizer = train_wordpiece(text_of(documents), {.vocabulary_size = 60});
  const std::vector<TokenId> ids = tokenizer->encode(documents[0]);
  ASSERT_GT(ids.size(), 8u);
  const std::size_t prompt = 3;
  TextStream stream(*tokenizer, {.before = ids[prompt - 1]});
  std::string text = tokenizer->decode(std::span(ids).first(prompt));
  for (std::size_t i = prompt; i < ids.size(); ++i) text += stream.add(ids[i]);
  EXPECT_EQ(text + stream.finish(), tokenizer->decode(ids));
}

}  // namespace
}  // namespace nadi::inline runs
