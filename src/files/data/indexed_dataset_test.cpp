#include "nadi/data/indexed_dataset.h"

#include <gmock/gmock.h>

#include "nadi/data/indexed_dataset_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class IndexedDatasetTest : public DatasetFolderTest {};

// Two documents of two and one sequences. In the index: lengths at 34, 38, 42; offsets at 46, 54, 62;
// documents at 70, 78, 86; 94 bytes in all.
DatasetBytes small() {
  return dataset_bytes({{{7, 8, 9}, {10}}, {{65'535, 11}}});
}

TEST_F(IndexedDatasetTest, ReadsSequencesAndDocuments) {
  const auto prefix = put_dataset("a_text_document", small());
  for (const char* suffix : {"", ".idx", ".bin"}) {
    const IndexedDataset dataset(prefix.string() + suffix);
    EXPECT_EQ(dataset.prefix(), prefix.string());
    EXPECT_EQ(dataset.dtype().name, "uint16");
    EXPECT_EQ(dataset.sequences(), 3);
    EXPECT_EQ(dataset.documents(), 2);
    EXPECT_EQ(dataset.tokens(), 6);
    EXPECT_FALSE(dataset.has_modes());
    EXPECT_EQ(dataset.index_bytes(), 94_B);
    EXPECT_EQ(dataset.data_bytes(), 12_B);
    EXPECT_EQ(dataset.first_sequence(1), 2);
    EXPECT_EQ(dataset.length(0), 3);
    EXPECT_THAT(dataset.tokens(0), ElementsAre(7, 8, 9));
    EXPECT_THAT(dataset.tokens(2), ElementsAre(65'535, 11));
    std::vector<TokenId> part(2);
    dataset.read(0, 1, part);
    EXPECT_THAT(part, ElementsAre(8, 9));
    EXPECT_EQ(dataset.largest_token(0, 2), 10);
    EXPECT_EQ(dataset.largest_token(0, 3), 65'535);
    EXPECT_EQ(dataset.largest_token(1, 1), -1);
  }
}

template <typename T>
std::vector<TokenId> tokens_as(IndexedDType dtype) {
  const DatasetBytes bytes = dataset_bytes<T>({{{0, 1, 127}}}, dtype);
  return IndexedDataset(bytes_of(bytes.index), bytes_of(bytes.data), "x").tokens(0);
}

TEST_F(IndexedDatasetTest, ReadsEveryIntegerType) {
  EXPECT_THAT(tokens_as<std::uint8_t>(IndexedDType::kU8), ElementsAre(0, 1, 127));
  EXPECT_THAT(tokens_as<std::int8_t>(IndexedDType::kI8), ElementsAre(0, 1, 127));
  EXPECT_THAT(tokens_as<std::int16_t>(IndexedDType::kI16), ElementsAre(0, 1, 127));
  EXPECT_THAT(tokens_as<std::uint16_t>(IndexedDType::kU16), ElementsAre(0, 1, 127));
  EXPECT_THAT(tokens_as<std::int32_t>(IndexedDType::kI32), ElementsAre(0, 1, 127));
  EXPECT_THAT(tokens_as<std::int64_t>(IndexedDType::kI64), ElementsAre(0, 1, 127));
}

TEST_F(IndexedDatasetTest, EmptySequencesAndDocumentsAndModesAreFine) {
  DatasetBytes bytes = dataset_bytes({{}, {{}, {5}}, {}});
  bytes.index += std::string("\1\0", 2);
  const IndexedDataset dataset(bytes_of(bytes.index), bytes_of(bytes.data), "x");
  EXPECT_EQ(dataset.documents(), 3);
  EXPECT_TRUE(dataset.has_modes());
  EXPECT_THAT(dataset.tokens(0), IsEmpty());
  const DatasetBytes nothing = dataset_bytes({});
  const IndexedDataset empty(put_dataset("empty", nothing));
  EXPECT_EQ(empty.documents(), 0);
  EXPECT_EQ(empty.tokens(), 0);
}

struct Damage {
  const char* what;
  std::function<void(DatasetBytes&)> make;
  std::int64_t byte;
  const char* message;
};

template <typename T>
std::function<void(DatasetBytes&)> index_at(std::size_t byte, T value) {
  return [byte, value](DatasetBytes& bytes) {
    bytes.index.replace(byte, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
  };
}

TEST_F(IndexedDatasetTest, DamageIsNamedWithItsByte) {
  for (const Damage& damage : {
           Damage{"empty", [](DatasetBytes& b) { b.index = ""; }, 0, "0 bytes, the header alone 34"},
           Damage{"header cut", [](DatasetBytes& b) { b.index.resize(33); }, 33, "33 bytes"},
           Damage{"magic", index_at(0, 'X'), 0, "no index of a Megatron dataset"},
           Damage{"version", index_at(9, std::uint64_t{2}), 9, "version 2 of the format, not 1"},
           Damage{"type", index_at(17, std::uint8_t{9}), 17, "unknown type of tokens: 9"},
           Damage{"floats", index_at(17, std::uint8_t{7}), 17, "float32"},
           Damage{"many sequences", index_at(18, ~std::uint64_t{0}), 18, "18446744073709551615 sequences"},
           Damage{"more sequences", index_at(18, std::uint64_t{5}), 26, "3 document indices do not fit"},
           Damage{"no documents", index_at(26, std::uint64_t{0}), 26, "no document indices"},
           Damage{"many documents", index_at(26, std::uint64_t{1} << 61), 26, "do not fit"},
           Damage{"cut", [](DatasetBytes& b) { b.index.resize(93); }, 26, "3 document indices do not fit"},
           Damage{"longer", [](DatasetBytes& b) { b.index += "xy"; }, 94, "2 bytes are left over"},
           Damage{"negative length", index_at(38, std::int32_t{-1}), 38, "sequence 1 has -1 tokens"},
           Damage{"offset", index_at(54, std::int64_t{8}), 54,
                  "begins at byte 8, but the one before it ends at 6"},
           Damage{"negative offset", index_at(46, std::int64_t{-2}), 46, "begins at byte -2"},
           Damage{"long sequence", index_at(42, std::int32_t{0x7fffffff}), 12, "within sequence 2"},
           Damage{".bin cut", [](DatasetBytes& b) { b.data.resize(11); }, 11, "within sequence 2"},
           Damage{".bin empty", [](DatasetBytes& b) { b.data = ""; }, 0, "within sequence 0"},
           Damage{".bin longer", [](DatasetBytes& b) { b.data += "xy"; }, 12, "the file has 14 bytes"},
           Damage{"first document", index_at(70, std::int64_t{1}), 70, "document 0 begins at sequence 1"},
           Damage{"documents", index_at(78, std::int64_t{-1}), 78, "document 1 begins at sequence -1"},
           Damage{"far document", index_at(78, std::int64_t{4}), 78, "document 1 begins at sequence 4"},
           Damage{"last", index_at(86, std::int64_t{2}), 86,
                  "the documents end at sequence 2, but there are 3"},
       }) {
    SCOPED_TRACE(damage.what);
    DatasetBytes bytes = small();
    damage.make(bytes);
    const Error error = error_of([&] { IndexedDataset(bytes_of(bytes.index), bytes_of(bytes.data), "x"); });
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().file, bytes.data == small().data && damage.byte != 12 ? "x.idx" : "x.bin");
    EXPECT_EQ(error.place().byte, damage.byte);
    EXPECT_THAT(error.message(), HasSubstr(damage.message));
  }
}

TEST_F(IndexedDatasetTest, IsRefusedAtEveryTruncation) {
  const DatasetBytes whole = small();
  for (std::size_t size = 0; size < whole.index.size(); ++size) {
    const std::string index = whole.index.substr(0, size);
    EXPECT_EQ(error_of([&] { IndexedDataset(bytes_of(index), bytes_of(whole.data), "x"); }).kind(),
              ErrorKind::kInput);
  }
}

TEST_F(IndexedDatasetTest, NumbersThatAreNoTokensAreNamed) {
  const DatasetBytes negative = dataset_bytes<std::int32_t>({{{1}, {2, -3}}}, IndexedDType::kI32);
  const IndexedDataset first(bytes_of(negative.index), bytes_of(negative.data), "x");
  EXPECT_THAT(first.tokens(0), ElementsAre(1));
  EXPECT_STREQ(error_of([&] { first.tokens(1); }).what(), "x.bin: byte 8: -3 is no token");
  const DatasetBytes large = dataset_bytes<std::int64_t>({{{1, 1LL << 31}}}, IndexedDType::kI64);
  const IndexedDataset second(bytes_of(large.index), bytes_of(large.data), "x");
  EXPECT_STREQ(error_of([&] { second.largest_token(0, 1); }).what(), "x.bin: byte 8: 2147483648 is no token");
}

TEST_F(IndexedDatasetTest, MissingFilesAreNamed) {
  const auto prefix = put_dataset("a_text_document", small());
  const Error shorter = error_of([&] { IndexedDataset(folder_ / "a"); });
  EXPECT_EQ(shorter.hint(), "did you mean '" + prefix.string() + "'?");
  EXPECT_THAT(error_of([&] { IndexedDataset(folder_ / "b"); }).what(),
              HasSubstr("b.idx: no such file or folder"));
  std::filesystem::remove(prefix.string() + ".bin");
  EXPECT_THAT(error_of([&] { IndexedDataset{prefix}; }).what(), HasSubstr(".bin: no such file or folder"));
  std::filesystem::create_directory(prefix.string() + ".bin");
  EXPECT_THAT(error_of([&] { IndexedDataset{prefix}; }).what(), HasSubstr("this is a folder"));
}

TEST_F(IndexedDatasetTest, ReadsWhatMegatronWrote) {
  const std::string gpt = megatron_file("my-gpt2_text_document");
  const std::string bert = megatron_file("my-bert_text_sentence");
  if (gpt.empty() || bert.empty()) GTEST_SKIP() << "no files of Megatron's beside the repository";
  const IndexedDataset documents(gpt);
  EXPECT_EQ(documents.dtype().name, "uint16");
  EXPECT_EQ(documents.documents(), 35);
  EXPECT_EQ(documents.sequences(), 35);
  EXPECT_EQ(documents.tokens(), 415'538 / 2);
  EXPECT_LT(documents.largest_token(0, 35), 50'257);
  const IndexedDataset sentences(bert);
  EXPECT_EQ(sentences.tokens(), 419'054 / 2);
  EXPECT_GT(sentences.sequences(), sentences.documents());
  EXPECT_LT(sentences.largest_token(0, sentences.sequences()), 30'522);
}

}  // namespace
}  // namespace nadi::inline files
