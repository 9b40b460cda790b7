#include "nadi/data/megatron_data.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/data/gpt_index.h"
#include "nadi/data/indexed_dataset_for_tests.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline files {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr auto kNone = static_cast<std::int32_t>(kIgnoredTarget);

class MegatronDataTest : public DatasetFolderTest {
 protected:
  // Documents of 10 tokens, from `first` on: document d has first + 10 d to first + 10 d + 9.
  std::string put_counting(const std::string& name, int documents, std::int64_t first) const {
    std::vector<TestDocument> all;
    for (int d = 0; d < documents; ++d) {
      TestSequence sequence;
      for (int i = 0; i < 10; ++i) sequence.push_back(first + d * 10 + i);
      all.push_back({sequence});
    }
    return put_dataset(name, dataset_bytes(all)).string();
  }
  // Documents of four sentences of five letters each, a to d.
  std::string put_sentences(const std::string& name, int documents) const {
    const TestDocument document{TestSequence(5, 'a'), TestSequence(5, 'b'), TestSequence(5, 'c'),
                                TestSequence(5, 'd')};
    return put_dataset(
               name, dataset_bytes(std::vector<TestDocument>(static_cast<std::size_t>(documents), document)))
        .string();
  }

  static MegatronDataRequest request(std::vector<std::string> data_path) {
    return {.data_path = std::move(data_path),
            .split = "1,1,0",
            .seq_length = 4,
            .batch_size = 2,
            .train_samples = 6,
            .validation_samples = 4,
            .vocabulary = 1000};
  }
};

TEST_F(MegatronDataTest, GptRowsAreTheSamplesOfTheIndexShiftedByOne) {
  const std::string prefix = put_counting("d", 6, 0);
  MegatronData data = open_megatron_data(request({prefix}));
  EXPECT_EQ(data.train->samples(), 6);
  EXPECT_EQ(data.train->batches_per_epoch(), 3);
  EXPECT_EQ(data.train->tokens(), 30);  // documents 0 to 2
  ASSERT_THAT(data.datasets, SizeIs(1));
  EXPECT_EQ(data.largest_token, -1);
  const IndexedDataset dataset(prefix);
  const GptIndex index(dataset, {.last = 3, .samples = 6, .seq_length = 4});
  std::vector<TokenId> tokens(5);
  for (std::int64_t i = 0; i < 6; ++i) {
    index.read(i, tokens);
    const Batch row = data.train->batch({.batch = i / 2}, {.rank = i % 2, .ranks = 2});
    EXPECT_EQ(row.input_ids, std::vector<TokenId>(tokens.begin(), tokens.end() - 1));
    EXPECT_EQ(row.targets, std::vector<TokenId>(tokens.begin() + 1, tokens.end()));
    EXPECT_THAT(row.token_type_ids, Each(0));
    EXPECT_THAT(row.lengths, ElementsAre(4));
    EXPECT_EQ(row.tokens, 4);
  }
  const Batch validation = data.validation->batch({});
  EXPECT_THAT(validation.input_ids, Each(testing::Ge(30)));
}

TEST_F(MegatronDataTest, WithoutVocabularyTheLargestTokenIsFound) {
  MegatronDataRequest unknown = request({put_counting("d", 6, 100)});
  unknown.vocabulary = 0;
  EXPECT_EQ(open_megatron_data(unknown).largest_token, 159);
  unknown.vocabulary = 125;
  MegatronData small = open_megatron_data(unknown);
  const Error error = error_of([&] {
    for (std::int64_t i = 0; i < 3; ++i) small.train->batch({.batch = i});
  });
  EXPECT_EQ(error.kind(), ErrorKind::kInput);
  // Training has the tokens 100 to 129, two bytes each.
  EXPECT_THAT(error.what(),
              testing::MatchesRegex(".*/d.bin: byte 5[0-9]: token 12[5-9] does not exist: .*125"));
  const ByteTokenizer tokenizer = ByteTokenizer::gpt2();
  unknown.vocabulary = 0;
  unknown.tokenizer = &tokenizer;
  EXPECT_EQ(open_megatron_data(unknown).largest_token, -1);
}

TEST_F(MegatronDataTest, SeveralDatasetsAreMixedByWeight) {
  const std::string a = put_counting("a", 4, 0), b = put_counting("b", 40, 500);
  MegatronDataRequest weighted = request({"1", a, "3", b});
  weighted.split = "1";
  weighted.train_samples = 40;
  weighted.batch_size = 40;
  const auto share_of_b = [](MegatronData data) {
    std::int64_t rows = 0;
    const Batch batch = data.train->batch({});
    for (std::size_t row = 0; row < 40; ++row) rows += batch.input_ids[row * 4] >= 500;
    return rows;
  };
  EXPECT_EQ(share_of_b(open_megatron_data(weighted)), 30);
  // Maps are made for 10 and 30 samples and half a percent more: 10.05 and 30.15.
  EXPECT_TRUE(std::filesystem::exists(a + "_train_indexmap_11ns_4sl_1234s_doc_idx.npy"));
  EXPECT_TRUE(std::filesystem::exists(b + "_train_indexmap_31ns_4sl_1234s_doc_idx.npy"));
  weighted.data_path = {folder_.path().string()};  // by tokens: 1 to 10, so 36.4 of 40
  MegatronData folder = open_megatron_data(weighted);
  EXPECT_EQ(folder.train->tokens(), 440);
  EXPECT_NEAR(static_cast<double>(share_of_b(std::move(folder))), 36.4, 1);
  EXPECT_EQ(open_megatron_data(weighted).validation, nullptr);
}

TEST_F(MegatronDataTest, MapsGoToTheCache) {
  MegatronDataRequest cached = request({put_counting("d", 6, 0)});
  cached.cache = folder_ / "cache";
  open_megatron_data(cached);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(cached.cache))
    names.insert(entry.path().filename().string());
  EXPECT_EQ(names.size(), 6u);
  EXPECT_TRUE(names.contains("d_valid_indexmap_4ns_4sl_1234s_shuffle_idx.npy"));
}

TEST_F(MegatronDataTest, BertRowsAreTwoPartsBetweenSpecialTokens) {
  const ByteTokenizer tokenizer = ByteTokenizer::bert();
  MegatronDataRequest bert = request({put_sentences("s", 8)});
  bert.seq_length = 24;
  bert.masked = true;
  bert.tokenizer = &tokenizer;
  bert.vocabulary = 261;
  bert.train_samples = 16;
  MegatronData data = open_megatron_data(bert);
  EXPECT_EQ(data.train->tokens(), 4 * 20);
  EXPECT_EQ(data.train->batch({.epoch = 0}).input_ids, data.train->batch({.epoch = 0}).input_ids);
  EXPECT_NE(data.train->batch({.epoch = 0}).input_ids, data.train->batch({.epoch = 1}).input_ids);
  std::set<std::size_t> cuts;
  for (std::int64_t i = 0; i < 16; ++i) {
    const Batch row = data.train->batch({.batch = i / 2}, {.rank = i % 2, .ranks = 2});
    const auto length = static_cast<std::size_t>(row.lengths[0]);
    std::vector<std::int32_t> ids = row.input_ids;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      if (row.targets[t] != kNone) ids[t] = row.targets[t];
    }
    EXPECT_EQ(ids[0], 258);
    EXPECT_EQ(ids[length - 1], 259);
    const auto first_part = static_cast<std::size_t>(
        std::count(row.token_type_ids.begin(), row.token_type_ids.begin() + row.lengths[0], 0));
    EXPECT_EQ(ids[first_part - 1], 259);
    EXPECT_EQ(row.token_type_ids[length - 1], 1);
    EXPECT_GE(row.tokens, 1);
    for (std::size_t t = length; t < ids.size(); ++t) EXPECT_EQ(ids[t], 256);
    if (length < 23) continue;  // a short one
    // All 20 letters, in order, with the two [SEP] between sentences.
    std::erase_if(ids, [](std::int32_t id) { return id >= 256; });
    EXPECT_THAT(ids, SizeIs(20));
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ((first_part - 2) % 5, 0u);
    cuts.insert((first_part - 2) / 5);
  }
  EXPECT_GT(cuts.size(), 1u);
}

TEST_F(MegatronDataTest, LongBertSamplesAreCutToTheirRow) {
  const ByteTokenizer tokenizer = ByteTokenizer::bert();
  MegatronDataRequest bert = request({put_sentences("s", 8)});
  bert.seq_length = 12;  // 9 of 20 letters
  bert.masked = true;
  bert.tokenizer = &tokenizer;
  MegatronData data = open_megatron_data(bert);
  const Batch batch = data.train->batch({});
  EXPECT_THAT(batch.lengths, Each(testing::Le(12)));
  EXPECT_THAT(batch.lengths, testing::Contains(12));
}

TEST_F(MegatronDataTest, BertSamplesOfSpecialTokensHaveNothingToPredict) {
  const ByteTokenizer tokenizer = ByteTokenizer::bert();
  const TestDocument unknown{TestSequence(3, 257), TestSequence(3, 257)};
  MegatronDataRequest bert = request({put_dataset("u", dataset_bytes({unknown, unknown})).string()});
  bert.seq_length = 12;
  bert.masked = true;
  bert.tokenizer = &tokenizer;
  MegatronData data = open_megatron_data(bert);
  const Batch batch = data.train->batch({});
  EXPECT_EQ(batch.tokens, 0);
  EXPECT_THAT(batch.targets, Each(kNone));
}

// Two passes over T tokens give (2 T - 1) / s samples, of which whole batches are taken; one at least.
TEST_F(MegatronDataTest, WithoutANumberOfSamplesTheDocumentsAreGoneThrough) {
  MegatronDataRequest wanted = request({put_counting("d", 6, 0)});
  wanted.split = "100,0,0";
  wanted.train_samples = 0;
  wanted.passes = 2;
  wanted.batch_size = 3;
  const MegatronData data = open_megatron_data(wanted);
  const std::int64_t samples = (2 * data.datasets[0].tokens - 1) / wanted.seq_length;
  EXPECT_EQ(data.train->samples(), samples / 3 * 3);
  wanted.batch_size = 1000;
  EXPECT_EQ(open_megatron_data(wanted).train->samples(), 1000);
}

TEST_F(MegatronDataTest, MistakesAreNamed) {
  const std::string prefix = put_counting("d", 6, 0);
  const auto error = [&](const std::function<void(MegatronDataRequest&)>& change) {
    MegatronDataRequest wrong = request({prefix});
    change(wrong);
    return error_of([&] { open_megatron_data(wrong); });
  };
  EXPECT_EQ(error([](auto& r) { r.train_samples = -1; }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error([](auto& r) { r.passes = 0; }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error([](auto& r) { r.seq_length = 0; }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error([](auto& r) { r.batch_size = 0; }).kind(), ErrorKind::kUsage);
  EXPECT_THAT(error([](auto& r) { r.masked = true; }).message(), HasSubstr("length of 4 is too short"));
  EXPECT_EQ(error([](auto& r) {
              r.masked = true;
              r.seq_length = 20;
            }).message(),
            "tokens cannot be masked without a tokenizer");
  EXPECT_THAT(error([](auto& r) { r.split = "0,1"; }).message(),
              HasSubstr("leaves no documents for training"));
  EXPECT_THAT(
      error([&](auto& r) { r.data_path = {put_dataset("e", dataset_bytes({{{}}})).string()}; }).message(),
      HasSubstr("have no tokens"));
  EXPECT_THAT(error([&](auto& r) { r.data_path = {"nowhere"}; }).what(),
              HasSubstr("nowhere.idx: no such file or folder"));
  const ByteTokenizer gpt2 = ByteTokenizer::gpt2();
  EXPECT_THAT(error([&](auto& r) {
                r.masked = true;
                r.seq_length = 20;
                r.tokenizer = &gpt2;
              }).message(),
              HasSubstr("the tokenizer has no [CLS]"));
}

// Documents end with 9, 19, ...: with 9 as the end, what 9 predicts does not count, and 19 still does.
TEST_F(MegatronDataTest, WhatTheEndOfADocumentPredictsMayNotCount) {
  MegatronDataRequest plain = request({put_counting("d", 6, 0)});
  MegatronDataRequest masked = plain;
  masked.masked_end = 9;
  MegatronData all = open_megatron_data(plain), counted = open_megatron_data(masked);
  std::int64_t ends = 0;
  for (std::int64_t i = 0; i < 3; ++i) {
    const Batch before = all.train->batch({.batch = i}), after = counted.train->batch({.batch = i});
    EXPECT_EQ(before.input_ids, after.input_ids);
    std::int64_t here = 0;
    for (std::size_t place = 0; place < before.targets.size(); ++place) {
      const bool end = before.input_ids[place] == 9;
      EXPECT_EQ(after.targets[place], end ? kNone : before.targets[place]);
      here += end ? 1 : 0;
    }
    EXPECT_EQ(after.tokens, before.tokens - here);
    ends += here;
  }
  EXPECT_GT(ends, 0);
}

TEST_F(MegatronDataTest, ValidationMayHaveDatasetsOfItsOwn) {
  const std::string train = put_counting("train", 3, 0), valid = put_counting("valid", 3, 500);
  MegatronDataRequest apart = request({train});
  apart.validation_path = {valid};
  MegatronData data = open_megatron_data(apart);
  EXPECT_EQ(data.train->tokens(), 30);  // all documents, whatever the split
  EXPECT_THAT(data.train->batch({}).input_ids, Each(testing::Lt(30)));
  EXPECT_EQ(data.validation->tokens(), 30);
  EXPECT_THAT(data.validation->batch({}).input_ids, Each(testing::Ge(500)));
}

// Rows 1 to 3 of an epoch of 6, in two parts, and 4 rows from 4 on, of which two have no sample.
TEST_F(MegatronDataTest, AnyRowsAreABatch) {
  MegatronData data = open_megatron_data(request({put_counting("d", 6, 0)}));
  const Batch first = data.train->batch({.batch = 0}), second = data.train->batch({.batch = 1});
  const Batch middle = data.train->batch_of({.first = 1, .rows = 2});
  EXPECT_EQ(std::vector(middle.input_ids.begin(), middle.input_ids.begin() + 4),
            std::vector(first.input_ids.begin() + 4, first.input_ids.end()));
  EXPECT_EQ(std::vector(middle.input_ids.begin() + 4, middle.input_ids.end()),
            std::vector(second.input_ids.begin(), second.input_ids.begin() + 4));
  const Batch part = data.train->batch_of({.first = 1, .rows = 2}, {.rank = 1, .ranks = 2});
  EXPECT_EQ(part.input_ids, std::vector(second.input_ids.begin(), second.input_ids.begin() + 4));
  EXPECT_EQ(data.train->batch_of({.first = 4, .rows = 4}).samples, 2);
}

}  // namespace
}  // namespace nadi::inline files
