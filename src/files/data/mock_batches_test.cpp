#include "nadi/data/mock_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline files {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::Lt;

constexpr MockBatchOptions kOptions{
    .samples = 20, .seq_length = 32, .batch_size = 8, .vocabulary = 1000, .seed = 7};

TEST(MockBatches, RowsAreFullOfTokensOfTheVocabularyAndPredictTheNext) {
  MockBatches source(kOptions);
  const Batch batch = source.batch({});
  EXPECT_EQ(batch.samples, 8);
  EXPECT_EQ(batch.tokens, 8 * 32);
  EXPECT_THAT(batch.input_ids, Each(AllOf(Ge(0), Lt(1000))));
  EXPECT_THAT(batch.targets, Each(AllOf(Ge(0), Lt(1000))));
  EXPECT_THAT(batch.lengths, Each(32));
  EXPECT_THAT(batch.token_type_ids, Each(0));
  for (std::size_t row = 0; row < 8; ++row)
    EXPECT_TRUE(std::equal(batch.input_ids.begin() + row * 32 + 1, batch.input_ids.begin() + (row + 1) * 32,
                           batch.targets.begin() + row * 32));
  EXPECT_GT(std::set(batch.input_ids.begin(), batch.input_ids.end()).size(), 200U) << "256 draws of 1000";
  EXPECT_EQ(source.tokens(), 640);
  EXPECT_EQ(source.batches_per_epoch(), 3);
}

TEST(MockBatches, ATokenIsAFunctionOfItsPlace) {
  MockBatches source(kOptions), again(kOptions);
  const Batch whole = source.batch({.epoch = 1, .batch = 1});
  EXPECT_EQ(again.batch({.epoch = 1, .batch = 1}).input_ids, whole.input_ids);
  const Batch half = again.batch({.epoch = 1, .batch = 1}, {.rank = 1, .ranks = 2});
  EXPECT_TRUE(std::equal(half.input_ids.begin(), half.input_ids.end(), whole.input_ids.begin() + 4 * 32));
  EXPECT_NE(source.batch({.epoch = 2, .batch = 1}).input_ids, whole.input_ids) << "another epoch";
  MockBatchOptions other = kOptions;
  other.seed = 8;
  EXPECT_NE(MockBatches(other).batch({.epoch = 1, .batch = 1}).input_ids, whole.input_ids);
}

TEST(MockBatches, BertPredictsSomeTokensOfTwoTexts) {
  MockBatchOptions masked = kOptions;
  masked.masked = true;
  const Batch batch = MockBatches(masked).batch({});
  const Batch plain = MockBatches(kOptions).batch({});
  std::int64_t chosen = 0;
  for (std::size_t row = 0; row < 8; ++row) {
    std::int64_t of_row = 0;
    for (std::size_t t = 0; t < 32; ++t) {
      const std::size_t at = row * 32 + t;
      EXPECT_EQ(batch.token_type_ids[at], t < 16 ? 0 : 1);
      const bool predicted = batch.targets[at] != kIgnoredTarget;
      EXPECT_EQ(predicted ? batch.targets[at] : batch.input_ids[at], plain.input_ids[at]);
      of_row += predicted ? 1 : 0;
    }
    EXPECT_GE(of_row, 1) << row;
    chosen += of_row;
  }
  EXPECT_EQ(batch.tokens, chosen);
  EXPECT_LT(chosen, 8 * 32 / 3);
  EXPECT_THAT(batch.input_ids, Each(AllOf(Ge(0), Lt(1000))));
}

}  // namespace
}  // namespace nadi::inline files
