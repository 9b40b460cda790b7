#include "nadi/data/document_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/data/indexed_dataset_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;

TEST(DocumentTexts, AreOnePerSequenceWithoutTheEnd) {
  const DatasetBytes bytes = dataset_bytes({{{'a', 'b'}, {'c', 256}}, {}, {{256, 'd', 0xC3}}});
  const IndexedDataset dataset(bytes_of(bytes.index), bytes_of(bytes.data), "d");
  // 256 ends a document; elsewhere it is text, which is its low byte here.
  const ByteTokenizer tokenizer = ByteTokenizer::gpt2();
  DocumentTexts texts(dataset, tokenizer);
  EXPECT_THAT(texts.of(0), ElementsAre("ab", "c"));
  EXPECT_THAT(texts.of(1), ElementsAre());
  EXPECT_EQ(texts.broken(), 0);
  EXPECT_THAT(texts.of(2), ElementsAre(std::string("\0d\xC3", 3)));
  EXPECT_EQ(texts.broken(), 1);
}

TEST(DocumentTexts, NameTokensOfAnotherTokenizer) {
  const DatasetBytes bytes = dataset_bytes({{{'a', 'b', 300}}});
  const IndexedDataset dataset(bytes_of(bytes.index), bytes_of(bytes.data), "d");
  const ByteTokenizer tokenizer = ByteTokenizer::gpt2();
  DocumentTexts texts(dataset, tokenizer);
  EXPECT_STREQ(error_of([&] { texts.of(0); }).what(),
               "d.bin: byte 4: token 300 is not one of the tokenizer's 257");
}

}  // namespace
}  // namespace nadi::inline files
