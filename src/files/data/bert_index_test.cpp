#include "nadi/data/bert_index.h"

#include <gmock/gmock.h>

#include <set>

#include "nadi/data/indexed_dataset_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class BertIndexTest : public DatasetFolderTest {
 protected:
  // Documents of sentences with these lengths.
  IndexedDataset dataset(const std::vector<std::vector<std::size_t>>& lengths) const {
    std::vector<TestDocument> documents;
    for (const std::vector<std::size_t>& sentences : lengths) {
      documents.emplace_back();
      for (const std::size_t length : sentences) documents.back().push_back(TestSequence(length, 7));
    }
    return IndexedDataset(put_dataset("d", dataset_bytes(documents)));
  }
};

BertIndexOptions whole(const IndexedDataset& dataset, std::int64_t samples, std::int64_t max_length) {
  return {.last = dataset.documents(), .samples = samples, .max_length = max_length};
}

TEST_F(BertIndexTest, ReproducesMegatronsFiles) {
  const std::string prefix = megatron_file("my-bert_text_sentence");
  if (prefix.empty()) GTEST_SKIP() << "no files of Megatron's beside the repository";
  const IndexedDataset data(prefix);
  for (const std::int64_t samples : {50, 100}) {
    BertIndexOptions options = whole(data, samples, 509);
    const std::filesystem::path theirs = bert_index_path(data, options);
    EXPECT_EQ(BertIndex(data, options).samples(), 424);
    options.folder = folder_;
    write_bert_index(data, options, Overwrite::kRefuse);
    EXPECT_EQ(read_text(bert_index_path(data, options)), read_text(theirs)) << theirs;
  }
}

std::set<std::vector<std::int64_t>> spans(const BertIndex& index) {
  std::set<std::vector<std::int64_t>> all;
  for (std::int64_t i = 0; i < index.samples(); ++i) {
    const BertIndex::Span span = index.span_of(i);
    all.insert({span.first, span.last, span.length});
  }
  return all;
}

TEST_F(BertIndexTest, RunsEndWhenTheyAreLongEnough) {
  // Document 0 has sentences 0 to 6, of 10 tokens each: with at most 25, three sentences reach 25, and the
  // next three would leave one alone, so they take it along. Document 1 has one sentence, document 2 one of
  // 513 tokens: none. Document 3, sentences 10 and 11, ends before it is full.
  const IndexedDataset data = dataset({{10, 10, 10, 10, 10, 10, 10}, {5}, {513, 4}, {1, 0}});
  BertIndexOptions options = whole(data, 1, 25);
  options.short_probability = 0;
  const BertIndex index(data, options);
  using Spans = std::set<std::vector<std::int64_t>>;
  EXPECT_EQ(spans(index), (Spans{{0, 3, 25}, {3, 7, 25}, {10, 12, 25}}));
  EXPECT_EQ(index.samples(), 3);
  // Whole epochs: 4 wanted, 6 given.
  options.samples = 4;
  EXPECT_EQ(BertIndex(data, options).samples(), 6);
  EXPECT_THAT(bert_index_path(data, options).string(),
              EndsWith("/d_train_indexmap_4mns_25msl_0.00ssp_1234s.npy"));
}

TEST_F(BertIndexTest, OneInTenIsShorter) {
  const IndexedDataset data = dataset({std::vector<std::size_t>(4000, 10)});
  const BertIndex index(data, whole(data, 1, 40));
  std::int64_t shorter = 0;
  for (std::int64_t i = 0; i < index.samples(); ++i) shorter += index.span_of(i).length < 40;
  // About 1050 samples: 105 are expected, with a standard deviation of 10.
  EXPECT_GT(index.samples(), 1000);
  EXPECT_NEAR(static_cast<double>(shorter), static_cast<double>(index.samples()) / 10, 40);
}

TEST_F(BertIndexTest, DamagedMapsAreNamedWithTheirByte) {
  const IndexedDataset data = dataset({{10, 10, 10, 10}, {5, 5}});
  BertIndexOptions options = whole(data, 2, 25);
  options.short_probability = 0;
  const std::filesystem::path path = bert_index_path(data, options);
  const auto error_with = [&](const std::vector<std::array<std::uint32_t, 3>>& rows) {
    NpyWriter writer(path, NpyType::kU32, {static_cast<std::int64_t>(rows.size()), 3}, Overwrite::kAllow);
    for (const auto& row : rows) writer.append(std::span<const std::uint32_t>(row));
    writer.commit();
    const Error error = error_of([&] { BertIndex(data, options); });
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error;
  };
  EXPECT_THAT(error_with({{0, 2, 25}}).message(), HasSubstr("1 samples, not 2 or more"));
  for (const std::array<std::uint32_t, 3>& bad : {std::array<std::uint32_t, 3>{0, 5, 25},  // two documents
                                                  {0, 1, 25},                              // one sentence
                                                  {3, 2, 25},
                                                  {6, 8, 25},
                                                  {0xfffffffe, 0xffffffff, 25},
                                                  {0, 2, 26},
                                                  {0, 2, 1}}) {
    const Error error = error_with({{0, 4, 25}, bad});
    EXPECT_EQ(error.place().byte, 140);
    EXPECT_THAT(error.message(), HasSubstr("sample 1, up to "));
  }
  write_text(path, npy_header(NpyType::kU32, {6}) + std::string(24, '\0'));
  EXPECT_THAT(error_of([&] { BertIndex(data, options); }).message(), HasSubstr("not of shape (6, 3)"));
}

TEST_F(BertIndexTest, RefusesWhatMakesNoSense) {
  const IndexedDataset data = dataset({{10}, {600, 5}});
  EXPECT_THAT(error_of([&] { BertIndex(data, whole(data, 1, 20)); }).message(),
              HasSubstr("none of the 2 documents of split 'train' has 2 sentences"));
  EXPECT_EQ(error_of([&] { BertIndex(data, whole(data, 0, 20)); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { BertIndex(data, whole(data, 1, 1)); }).kind(), ErrorKind::kUsage);
  BertIndexOptions options = whole(data, 1, 20);
  options.short_probability = 2;
  EXPECT_EQ(error_of([&] { BertIndex(data, options); }).kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace nadi::inline files
