#include "nadi/data/gpt_index.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "nadi/data/indexed_dataset_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

namespace fs = std::filesystem;

class GptIndexTest : public DatasetFolderTest {
 protected:
  IndexedDataset dataset(const std::vector<int>& lengths) const {
    return IndexedDataset(put_dataset("d", dataset_bytes(counting_documents(lengths))));
  }
};

GptIndexOptions whole(const IndexedDataset& dataset, std::int64_t samples, std::int64_t seq_length) {
  return {.last = dataset.sequences(), .samples = samples, .seq_length = seq_length};
}

TEST_F(GptIndexTest, ReproducesMegatronsFiles) {
  const std::string prefix = megatron_file("my-gpt2_text_document");
  if (prefix.empty()) GTEST_SKIP() << "no files of Megatron's beside the repository";
  const IndexedDataset data(prefix);
  GptIndexOptions options = whole(data, 1600, 1024);
  const GptIndexPaths theirs = gpt_index_paths(data, options);
  EXPECT_NO_THROW(GptIndex(data, options));
  options.folder = folder_;
  write_gpt_index(data, options, Overwrite::kRefuse);
  const GptIndexPaths ours = gpt_index_paths(data, options);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(fs::exists(theirs.all()[i])) << theirs.all()[i];
    EXPECT_EQ(read_text(ours.all()[i]), read_text(theirs.all()[i])) << ours.all()[i];
  }
}

// 101 tokens and samples of 10: one epoch holds 100 / 10 = 10 samples, two hold 201 / 10 = 20, three 30.
TEST_F(GptIndexTest, FiguresFollowTheArithmetic) {
  const IndexedDataset data = dataset({50, 0, 51});
  const auto figures = [&](std::int64_t samples) {
    return gpt_index_figures(data, whole(data, samples, 10));
  };
  EXPECT_EQ(figures(1).epochs, 1);
  EXPECT_EQ(figures(10).epochs, 1);
  EXPECT_EQ(figures(10).samples, 10);
  EXPECT_EQ(figures(10).early_samples, 10);
  EXPECT_EQ(figures(11).epochs, 2);
  EXPECT_EQ(figures(11).samples, 20);
  // 17 want 7 samples of the second epoch, fewer than 80% of 10; 18 want 8.
  EXPECT_EQ(figures(17).early_samples, 10);
  EXPECT_EQ(figures(17).early_epochs, 1);
  EXPECT_EQ(figures(18).early_epochs, 2);
  EXPECT_EQ(figures(18).early_samples, 20);
  EXPECT_EQ(figures(21).early_epochs, 2);
  EXPECT_EQ(figures(21).early_samples, 20);
}

// Reference: the tokens of all documents in the order of the map, one behind the other; sample k has the
// tokens from k * s to k * s + s.
TEST_F(GptIndexTest, SamplesAreRunsOfTheShuffledDocuments) {
  const IndexedDataset data = dataset({5, 3, 0, 4, 1, 0, 11});
  for (const std::int64_t seq_length : {1, 2, 3, 7, 23, 30}) {
    for (const std::int64_t samples : {1, 5, 13}) {
      SCOPED_TRACE(testing::Message() << samples << " samples of " << seq_length);
      const GptIndexOptions options = whole(data, samples, seq_length);
      const GptIndex index(data, options);
      const GptIndexPaths paths = gpt_index_paths(data, options);
      EXPECT_GE(index.figures().samples, samples);
      std::vector<TokenId> stream;
      const NpyFile documents(paths.documents), shuffle(paths.shuffle);
      for (std::int64_t i = 0; i < documents.elements(); ++i) {
        const std::vector<TokenId> tokens = data.tokens(documents.at<std::int32_t>(i));
        stream.insert(stream.end(), tokens.begin(), tokens.end());
      }
      std::vector<TokenId> read(static_cast<std::size_t>(seq_length + 1));
      for (std::int64_t i = 0; i < index.figures().samples; ++i) {
        index.read(i, read);
        const auto begin = stream.begin() + shuffle.at<std::uint32_t>(i) * seq_length;
        EXPECT_EQ(read, std::vector<TokenId>(begin, begin + seq_length + 1)) << "sample " << i;
      }
    }
  }
}

TEST_F(GptIndexTest, ASplitHasItsDocumentsOnly) {
  const IndexedDataset data = dataset({5, 5, 5, 5});  // tokens 5 to 14 are those of documents 1 and 2
  const GptIndexOptions options{
      .first = 1, .last = 3, .split = "valid", .samples = 20, .seq_length = 3, .seed = 7};
  const GptIndex index(data, options);
  EXPECT_EQ(index.figures().tokens, 10);
  std::vector<TokenId> read(4);
  for (std::int64_t i = 0; i < index.figures().samples; ++i) {
    index.read(i, read);
    EXPECT_THAT(read, testing::Each(testing::AllOf(testing::Ge(5), testing::Lt(15))));
  }
  EXPECT_THAT(gpt_index_paths(data, options).shuffle.string(),
              EndsWith("/d_valid_indexmap_20ns_3sl_7s_shuffle_idx.npy"));
  // Made for other documents.
  GptIndexOptions others = options;
  others.first = 0;
  others.last = 2;
  const Error other = error_of([&] { GptIndex(data, others); });
  EXPECT_THAT(other.message(), HasSubstr("document 2 is not among those of split 'valid', 0 to 1"));
  EXPECT_THAT(other.hint(), HasSubstr("another dataset or split"));
}

TEST_F(GptIndexTest, GoesToTheFolderAndIsUsedFromThere) {
  const IndexedDataset data = dataset({5, 3, 4});
  GptIndexOptions options = whole(data, 4, 3);
  options.folder = folder_ / "cache";
  const GptIndexPaths paths = gpt_index_paths(data, options);
  GptIndex(data, options);
  for (const fs::path& path : paths.all()) EXPECT_TRUE(fs::exists(path)) << path;
  // Another order of samples is another index, and a good one: it is used.
  const std::string header = read_text(paths.shuffle).substr(0, 128);
  std::string bytes = read_text(paths.shuffle).substr(128);
  std::vector<std::uint32_t> order(bytes.size() / 4);
  std::iota(order.begin(), order.end(), 0U);
  write_text(paths.shuffle, header + std::string(reinterpret_cast<const char*>(order.data()), bytes.size()));
  std::vector<TokenId> first(4);
  GptIndex(data, options).read(0, first);
  const std::vector<TokenId> document = data.tokens(NpyFile(paths.documents).at<std::int32_t>(0));
  EXPECT_EQ(first[0], document[0]);
  EXPECT_THROW(write_gpt_index(data, options, Overwrite::kRefuse), Error);
  EXPECT_NO_THROW(write_gpt_index(data, options, Overwrite::kAllow));
}

// Three documents of 12 tokens in all, 4 samples of 3 wanted: two epochs, 23 / 3 = 7 samples.
TEST_F(GptIndexTest, DamagedMapsAreNamedWithTheirByte) {
  const IndexedDataset data = dataset({5, 3, 4});
  const GptIndexOptions options = whole(data, 4, 3);
  const GptIndexPaths paths = gpt_index_paths(data, options);
  struct Damage {
    fs::path file;
    std::size_t byte;  // of the number that is changed
    std::uint32_t value;
    std::int64_t named;  // the byte of the message
    const char* message;
  };
  GptIndex(data, options);
  const auto number = [&](const fs::path& path, std::int64_t i) {
    return NpyFile(path).at<std::uint32_t>(i);
  };
  for (const Damage& damage : {
           Damage{paths.documents, 128, 3, 128, "document 3 is not among those of split 'train', 0 to 2"},
           Damage{paths.documents, 132, 0xffffffff, 132, "document -1 is not among"},
           Damage{paths.samples, 128, 1, 128, "sample 0 begins at (1, 0), not at (0, 0)"},
           Damage{paths.samples, 140, 0x80000000, 136, "sample 1 begins at"},
           Damage{paths.shuffle, 128 + 24, 7, 152, "there is no sample 7 among 7"},
           Damage{paths.shuffle, 132, number(paths.shuffle, 0), 132, "comes twice"},
       }) {
    SCOPED_TRACE(damage.message);
    const std::string good = read_text(damage.file);
    std::string bad = good;
    bad.replace(damage.byte, 4, reinterpret_cast<const char*>(&damage.value), 4);
    write_text(damage.file, bad);
    const Error error = error_of([&] { GptIndex(data, options); });
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().file, damage.file.string());
    EXPECT_EQ(error.place().byte, damage.named);
    EXPECT_THAT(error.message(), HasSubstr(damage.message));
    write_text(damage.file, good);
  }
  // A document too often: all three documents are 0, so the third is one too many for two epochs.
  const std::string good = read_text(paths.documents);
  write_text(paths.documents, good.substr(0, 128) + std::string(24, '\0'));
  EXPECT_THAT(error_of([&] { GptIndex(data, options); }).what(),
              HasSubstr("byte 136: document 0 comes more"));
  write_text(paths.documents, good.substr(0, 151));
  EXPECT_THAT(error_of([&] { GptIndex(data, options); }).what(), HasSubstr("23 bytes of elements"));
  write_text(paths.documents, npy_header(NpyType::kI32, {3}) + std::string(12, '\0'));
  EXPECT_THAT(error_of([&] { GptIndex(data, options); }).what(), HasSubstr("of shape (3,)"));
  write_text(paths.documents, "");
  EXPECT_EQ(error_of([&] { GptIndex(data, options); }).kind(), ErrorKind::kInput);
}

TEST_F(GptIndexTest, RefusesWhatMakesNoSense) {
  const IndexedDataset data = dataset({5, 3, 4});
  const IndexedDataset empty(put_dataset("e", dataset_bytes({{{}}, {{}}})));
  const auto error = [](const IndexedDataset& from, GptIndexOptions options) {
    return error_of([&] { gpt_index_figures(from, options); });
  };
  EXPECT_EQ(error(data, whole(data, 0, 4)).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error(data, whole(data, 4, 0)).kind(), ErrorKind::kUsage);
  GptIndexOptions seed = whole(data, 1, 1);
  seed.seed = 1ULL << 32;
  EXPECT_THAT(error(data, seed).message(), HasSubstr("seed 4294967296"));
  EXPECT_THAT(error(empty, whole(empty, 1, 1)).message(),
              HasSubstr("2 documents of split 'train' have no tokens"));
  EXPECT_EQ(error(data, whole(data, 1LL << 40, 1 << 20)).kind(), ErrorKind::kInfeasible);
  EXPECT_EQ(error(data, whole(data, 1LL << 62, 4)).kind(), ErrorKind::kInfeasible);
}

TEST_F(GptIndexTest, AFolderThatCannotBeWrittenGetsAHint) {
  const IndexedDataset data = dataset({5, 3, 4});
  GptIndexOptions options = whole(data, 4, 3);
  options.folder = folder_ / "d.idx";  // a file
  const Error error = error_of([&] { GptIndex(data, options); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.hint(), HasSubstr("another folder for the index maps"));
}

}  // namespace
}  // namespace nadi::inline files
