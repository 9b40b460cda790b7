#include "nadi/data/document_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/data/line_blocks.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;

// A byte is a token: 'a' is 97.
EncodedDocuments encode(const std::string& lines, DocumentEncoderOptions options) {
  const ByteTokenizer tokenizer = ByteTokenizer::gpt2();
  DocumentEncoder encoder(tokenizer, std::move(options));
  EncodedDocuments documents;
  encoder.encode({.text = "{\"text\": \"p\", \"a\": \"q\", \"b\": \"r\"}\n"}, "",
                 documents);  // nothing of it stays
  encoder.encode({.text = lines, .first_line = 10}, "a.jsonl", documents);
  return documents;
}

TEST(DocumentEncoder, ATextIsASequence) {
  const EncodedDocuments documents =
      encode("{\"text\": \"ab\"}\n{\"text\": \"\"}\r\n{\"text\": \"c\"}", {.end_of_document = 256});
  ASSERT_EQ(documents.keys.size(), 1u);
  EXPECT_THAT(documents.keys[0].tokens, ElementsAre('a', 'b', 256, 'c', 256));
  EXPECT_THAT(documents.keys[0].lengths, ElementsAre(3, 2));
  EXPECT_THAT(documents.keys[0].sequences, ElementsAre(1, 0, 1));
  EXPECT_THAT(documents.line_bytes, ElementsAre(15, 14, 13));
}

TEST(DocumentEncoder, ASentenceIsASequence) {
  const std::string line = "{\"text\": \"One.\\n Two.\"}\n";
  const EncodedDocuments dropped = encode(line, {.split_sentences = true, .end_of_document = 256});
  EXPECT_THAT(dropped.keys[0].tokens, ElementsAre('O', 'n', 'e', '.', 'T', 'w', 'o', '.', 256));
  EXPECT_THAT(dropped.keys[0].lengths, ElementsAre(4, 5));
  EXPECT_THAT(dropped.keys[0].sequences, ElementsAre(2));
  const EncodedDocuments kept = encode(line, {.split_sentences = true, .gap = SentenceGap::kKept});
  EXPECT_THAT(kept.keys[0].lengths, ElementsAre(6, 4));
}

TEST(DocumentEncoder, AnArrayIsItsOwnSentences) {
  const std::string line = "{\"text\": [\"a. B\", \"\", \"c\"]}\n";
  for (const bool split : {false, true}) {
    const EncodedDocuments documents = encode(line, {.split_sentences = split});
    EXPECT_THAT(documents.keys[0].lengths, ElementsAre(4, 1));
    EXPECT_THAT(documents.keys[0].sequences, ElementsAre(2));
  }
}

TEST(DocumentEncoder, SpecialTokensAroundEachSequence) {
  const EncodedDocuments documents =
      encode("{\"text\": [\"a\", \"b\"]}\n", {.before = 300, .after = 301, .end_of_document = 256});
  EXPECT_THAT(documents.keys[0].tokens, ElementsAre(300, 'a', 301, 300, 'b', 301, 256));
  EXPECT_THAT(documents.keys[0].lengths, ElementsAre(3, 4));
}

TEST(DocumentEncoder, SeveralKeys) {
  const EncodedDocuments documents =
      encode("{\"a\": \"x\", \"b\": \"yz\"}\n{\"b\": \"\", \"a\": \"w\"}\n", {.keys = {"b", "a"}});
  EXPECT_THAT(documents.keys[0].tokens, ElementsAre('y', 'z'));
  EXPECT_THAT(documents.keys[0].sequences, ElementsAre(1, 0));
  EXPECT_THAT(documents.keys[1].tokens, ElementsAre('x', 'w'));
}

TEST(DocumentEncoder, LongTextsAreCutBeforeTheyAreSplit) {
  // A million characters of two bytes each, then one more.
  std::string text;
  for (int i = 0; i < 1'000'001; ++i) text += "é";
  const EncodedDocuments documents = encode("{\"text\": \"" + text + "\"}", {.split_sentences = true});
  EXPECT_THAT(documents.keys[0].lengths, ElementsAre(2'000'000, 2));
}

TEST(DocumentEncoder, NamesTheLine) {
  try {
    encode("{\"text\": \"a\"}\n\n{\"text\": \"a\"}\n", {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a.jsonl:11:1: an empty line");
  }
}

}  // namespace
}  // namespace nadi::inline files
