#include "nadi/data/indexed_dataset_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "nadi/data/indexed_dataset.h"
#include "nadi/data/indexed_dataset_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

class IndexedDatasetWriterTest : public DatasetFolderTest {
 protected:
  IndexedDatasetWriter writer(const std::string& name, IndexedDType type = IndexedDType::kU16,
                              Overwrite overwrite = Overwrite::kRefuse) const {
    return {(folder_ / name).string(), type, overwrite};
  }
  static void add(IndexedDatasetWriter& writer, const std::vector<TokenId>& tokens,
                  const std::vector<std::int64_t>& lengths) {
    writer.add_document(tokens, lengths);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }
};

TEST_F(IndexedDatasetWriterTest, WritesTheBytesOfTheFormat) {
  // Three documents: of two sentences, of none, of one.
  IndexedDatasetWriter narrow = writer("narrow");
  IndexedDatasetWriter wide = writer("wide", IndexedDType::kI32);
  for (IndexedDatasetWriter* dataset : {&narrow, &wide}) {
    add(*dataset, {1, 2, 65535}, {2, 1});
    add(*dataset, {}, {});
    add(*dataset, {7}, {1});
    EXPECT_EQ(dataset->documents(), 3);
    EXPECT_EQ(dataset->sequences(), 3);
    EXPECT_EQ(dataset->tokens(), 4);
    dataset->commit();
  }
  const std::vector<TestDocument> documents{{{1, 2}, {65535}}, {}, {{7}}};
  const DatasetBytes narrow_bytes = dataset_bytes(documents);
  EXPECT_EQ(read_text(folder_ / "narrow.idx"), narrow_bytes.index);
  EXPECT_EQ(read_text(folder_ / "narrow.bin"), narrow_bytes.data);
  const DatasetBytes wide_bytes = dataset_bytes<std::int32_t>(documents, IndexedDType::kI32);
  EXPECT_EQ(read_text(folder_ / "wide.idx"), wide_bytes.index);
  EXPECT_EQ(read_text(folder_ / "wide.bin"), wide_bytes.data);
}

TEST_F(IndexedDatasetWriterTest, ANothingIsADataset) {
  writer("none").commit();
  EXPECT_EQ(read_text(folder_ / "none.idx"), dataset_bytes({}).index);
  EXPECT_EQ(read_text(folder_ / "none.bin"), "");
}

TEST_F(IndexedDatasetWriterTest, TheReaderReadsIt) {
  // The index passes through a file in blocks of 64 KiB: 20,000 sequences have 80,000 bytes of lengths.
  IndexedDatasetWriter many = writer("many");
  for (TokenId i = 0; i < 20'000; ++i) add(many, {i, i}, {2});
  many.commit();
  const IndexedDataset dataset(folder_ / "many");
  EXPECT_EQ(dataset.documents(), 20'000);
  EXPECT_EQ(dataset.tokens(), 40'000);
  EXPECT_THAT(dataset.tokens(12'345), ElementsAre(12'345, 12'345));
}

TEST_F(IndexedDatasetWriterTest, AppearsWholeOrNotAtAll) {
  {
    IndexedDatasetWriter dropped = writer("a");
    add(dropped, {1}, {1});
    EXPECT_FALSE(fs::exists(folder_ / "a.bin"));
    EXPECT_FALSE(fs::exists(folder_ / "a.idx"));
  }
  EXPECT_EQ(files(), 0u);

  std::vector<IndexedDatasetWriter> two;
  two.push_back(writer("b"));
  two.push_back(writer("c"));
  for (IndexedDatasetWriter& dataset : two) add(dataset, {1}, {1});
  IndexedDatasetWriter::commit_together(two);
  EXPECT_EQ(files(), 4u);
}

TEST_F(IndexedDatasetWriterTest, OverwritesNothingUnasked) {
  write_text(folder_ / "a.idx", "mine");
  const Error error = error_of([&] { writer("a"); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_THAT(error.what(), HasSubstr("a.idx: the file exists"));
  EXPECT_EQ(files(), 1u);
  writer("a", IndexedDType::kU16, Overwrite::kAllow).commit();
  EXPECT_NE(read_text(folder_ / "a.idx"), "mine");
}

TEST_F(IndexedDatasetWriterTest, RefusesASequenceBeyondTheFormat) {
  // 2^31 tokens that are never looked at: reserved addresses, no memory.
  const std::size_t tokens = std::size_t{1} << 31;
  void* const addresses =
      mmap(nullptr, tokens * sizeof(TokenId), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED) GTEST_SKIP() << "8 GiB of addresses cannot be had here";
  const std::vector<std::int64_t> lengths{static_cast<std::int64_t>(tokens)};
  IndexedDatasetWriter dataset = writer("a");
  const Error error = error_of([&] {
    dataset.add_document({static_cast<const TokenId*>(addresses), tokens}, lengths);
  });
  munmap(addresses, tokens * sizeof(TokenId));
  EXPECT_EQ(error.kind(), ErrorKind::kInput);
  EXPECT_EQ(error.message(), "document 0 has a sequence of 2,147,483,648 tokens");
}

}  // namespace
}  // namespace nadi::inline files
