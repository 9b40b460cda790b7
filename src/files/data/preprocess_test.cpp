#include "nadi/data/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/json.h"
#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/data/indexed_dataset_for_tests.h"
#include "nadi/data/real_tokenizers_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

class PreprocessTest : public DatasetFolderTest {
 protected:
  PreprocessOptions options(const std::string& lines) const {
    write_text(folder_ / "in.jsonl", lines);
    return {.inputs = {folder_ / "in.jsonl"}, .output_prefix = (folder_ / "out/data").string()};
  }
  std::string output(const std::string& name) const { return read_text(folder_ / "out" / name); }

  const ByteTokenizer tokenizer_ = ByteTokenizer::gpt2();
};

TEST_F(PreprocessTest, WritesADataset) {
  PreprocessOptions settings = options("{\"text\": \"ab\"}\n{\"text\": \"\"}\n{\"text\": \"c\"}\n");
  settings.append_end = true;
  const PreprocessReport report = preprocess(settings, tokenizer_);
  const DatasetBytes expected = dataset_bytes({{{'a', 'b', 256}}, {}, {{'c', 256}}});
  EXPECT_EQ(output("data_text_document.bin"), expected.data);
  EXPECT_EQ(output("data_text_document.idx"), expected.index);
  EXPECT_EQ(report.documents, 3);
  EXPECT_EQ(report.read, 42_B);  // 15 + 13 + 14
  EXPECT_EQ(report.token_type, "uint16");
  ASSERT_EQ(report.datasets.size(), 1u);
  EXPECT_EQ(report.datasets[0].bin, folder_ / "out/data_text_document.bin");
  EXPECT_EQ(report.datasets[0].sequences, 2);
  EXPECT_EQ(report.datasets[0].tokens, 5);
  EXPECT_EQ(report.datasets[0].empty_documents, 1);
}

TEST_F(PreprocessTest, ADatasetPerKeyAndWideTokens) {
  PreprocessOptions settings = options("{\"a\": \"x\", \"b\": \"First. Second.\"}\n");
  settings.keys = {"a", "b"};
  settings.split_sentences = true;
  const ByteTokenizer wide({.begin = 70'000}, 70'001);
  settings.add_special_tokens = true;
  EXPECT_EQ(preprocess(settings, wide).token_type, "int32");
  EXPECT_EQ(output("data_a_sentence.bin"),
            dataset_bytes<std::int32_t>({{{70'000, 'x'}}}, IndexedDType::kI32).data);
  const IndexedDataset sentences(folder_ / "out/data_b_sentence");
  EXPECT_EQ(sentences.documents(), 1);
  EXPECT_EQ(sentences.sequences(), 2);
  EXPECT_EQ(sentences.length(1), 8);  // the token that begins it, and "Second."
}

TEST_F(PreprocessTest, SeveralFilesOneAfterTheOther) {
  fs::create_directory(folder_ / "in");
  write_text(folder_ / "in/b.jsonl", "{\"text\": \"b\"}");
  write_text(folder_ / "in/a.json", "{\"text\": \"a\"}\n");
  write_text(folder_ / "in/c.txt", "not this");
  PreprocessOptions settings = options("");
  settings.inputs = find_json_lines(folder_ / "in");
  EXPECT_THAT(settings.inputs, ElementsAre(folder_ / "in/a.json", folder_ / "in/b.jsonl"));
  preprocess(settings, tokenizer_);
  EXPECT_EQ(output("data_text_document.bin"), dataset_bytes({{{'a'}}, {{'b'}}}).data);
  EXPECT_THAT(find_json_lines("a.txt"), ElementsAre("a.txt"));
  fs::create_directory(folder_ / "empty");
  EXPECT_THROW(find_json_lines(folder_ / "empty"), Error);
}

TEST_F(PreprocessTest, TheSameBytesForAnyNumberOfWorkers) {
  // 4 MB: several blocks, with lines of very different lengths.
  std::string lines;
  for (std::size_t i = 0; lines.size() < 4'000'000; ++i)
    lines += "{\"text\": \"" + std::string(i % 97 == 0 ? 20'000 : i % 50, static_cast<char>('a' + i % 26)) +
             "\"}\n";
  PreprocessOptions settings = options(lines);
  std::vector<std::string> bins, indices;
  for (const int workers : {1, 2, 5}) {
    settings.workers = workers;
    settings.overwrite = Overwrite::kAllow;
    std::int64_t last = 0;
    const PreprocessReport report = preprocess(settings, tokenizer_, [&](const PreprocessProgress& progress) {
      EXPECT_GE(progress.documents, last);
      last = progress.documents;
    });
    EXPECT_EQ(last, report.documents);
    EXPECT_EQ(report.read.count(), static_cast<std::int64_t>(lines.size()));
    bins.push_back(output("data_text_document.bin"));
    indices.push_back(output("data_text_document.idx"));
  }
  EXPECT_FALSE(bins[0].empty());
  EXPECT_EQ(bins[1], bins[0]);
  EXPECT_EQ(bins[2], bins[0]);
  EXPECT_EQ(indices[1], indices[0]);
  EXPECT_EQ(indices[2], indices[0]);
}

TEST_F(PreprocessTest, AMistakeIsNamedAndNothingIsLeft) {
  // Two mistakes, far from each other: the first is named for any number of workers.
  std::string lines;
  for (int i = 1; i <= 100'000; ++i)
    lines += i == 60'001 || i == 99'999 ? "{\"txt\": \"a\"}\n" : "{\"text\": \"some text to fill lines\"}\n";
  PreprocessOptions settings = options(lines);
  for (const int workers : {1, 3}) {
    settings.workers = workers;
    const Error error = error_of([&] { preprocess(settings, tokenizer_); });
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("in.jsonl:60001:1: key 'text' is missing"));
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
  EXPECT_THROW(preprocess(settings, tokenizer_, [](const PreprocessProgress&) { throw 1; }), int);
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(PreprocessTest, RefusesWhatCannotBe) {
  PreprocessOptions settings = options("{\"text\": \"a\"}\n");
  const ByteTokenizer bert = ByteTokenizer::bert();
  settings.append_end = true;
  EXPECT_EQ(error_of([&] { preprocess(settings, bert); }).message(),
            "the tokenizer has no token that ends a document");
  settings.append_end = false;
  for (const std::vector<std::string>& keys : {std::vector<std::string>{"a/b"}, {""}, {"a", "a"}}) {
    settings.keys = keys;
    EXPECT_EQ(error_of([&] { preprocess(settings, bert); }).kind(), ErrorKind::kUsage);
  }
  settings.keys = {"text"};
  preprocess(settings, bert);
  EXPECT_THAT(error_of([&] { preprocess(settings, bert); }).what(), HasSubstr("the file exists"));
}

// Documents as JSON lines. Each sequence becomes a string; several are an array.
std::string json_lines(const IndexedDataset& dataset, const Tokenizer& tokenizer, bool as_arrays) {
  std::string lines;
  for (std::int64_t document = 0; document < dataset.documents(); ++document) {
    Json texts = Json::array();
    for (std::int64_t i = dataset.first_sequence(document); i < dataset.first_sequence(document + 1); ++i) {
      std::vector<TokenId> tokens = dataset.tokens(i);
      if (!as_arrays) tokens.pop_back();  // the end of the document
      texts.push_back(tokenizer.decode(tokens));
    }
    lines += Json{{"text", as_arrays ? texts : texts.at(0)}}.dump() + "\n";
  }
  return lines;
}

TEST_F(PreprocessTest, ReproducesMegatronsGpt2Dataset) {
  const auto gpt2 = real_gpt2_for_tests();
  const std::string real = real_dataset_for_tests("my-gpt2_text_document");
  if (!gpt2 || real.empty()) GTEST_SKIP() << "the real files are not here";
  PreprocessOptions settings = options(json_lines(IndexedDataset(real), *gpt2, /*as_arrays=*/false));
  settings.append_end = true;
  settings.workers = 2;
  preprocess(settings, *gpt2);
  EXPECT_TRUE(output("data_text_document.bin") == read_text(real + ".bin"));
  EXPECT_TRUE(output("data_text_document.idx") == read_text(real + ".idx"));
}

// The sentences are given as arrays, as Megatron's own second stage reads them: where punkt cut the text
// cannot be seen from its tokens.
TEST_F(PreprocessTest, ReproducesMegatronsBertDataset) {
  const auto bert = real_bert_for_tests();
  const std::string real = real_dataset_for_tests("my-bert_text_sentence");
  if (!bert || real.empty()) GTEST_SKIP() << "the real files are not here";
  PreprocessOptions settings = options(json_lines(IndexedDataset(real), *bert, /*as_arrays=*/true));
  settings.split_sentences = true;
  settings.workers = 2;
  preprocess(settings, *bert);
  EXPECT_TRUE(output("data_text_sentence.bin") == read_text(real + ".bin"));
  EXPECT_TRUE(output("data_text_sentence.idx") == read_text(real + ".idx"));
}

}  // namespace
}  // namespace nadi::inline files
