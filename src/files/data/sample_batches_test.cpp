#include "nadi/data/sample_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "nadi/base/error.h"
#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/data/squad.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline files {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int32_t kNone = static_cast<std::int32_t>(kIgnoredTarget);

// `count` questions of one letter, a, b, c, ..., about the context "x".
SquadSet letters(int count) {
  SquadSet set;
  set.paragraphs.push_back({.title = "", .context = "x"});
  for (int i = 0; i < count; ++i)
    set.questions.push_back({.id = "", .text = std::string(1, static_cast<char>('a' + i)), .paragraph = 0});
  return set;
}

SampleSet next_token_samples(int count, std::int64_t seq_length = 6) {
  return make_samples(letters(count), ByteTokenizer::gpt2(), {Objective::kNextToken, seq_length});
}

SampleSet masked_samples(int count) {
  return make_samples(letters(count), ByteTokenizer::bert(), {Objective::kMaskedToken, 6});
}

std::vector<std::int64_t> samples_of_epoch(BatchSource& source, std::int64_t epoch) {
  std::vector<std::int64_t> all;
  for (std::int64_t index = 0; index < source.batches_per_epoch(); ++index) {
    for (const std::int64_t sample : source.samples_of({epoch, index})) all.push_back(sample);
  }
  return all;
}

TEST(SampleBatches, NextTokenBatch) {
  const SampleSet samples = next_token_samples(3);
  SampleBatches source(samples, ByteTokenizer::gpt2(), {.batch_size = 2, .shuffle = false});
  EXPECT_EQ(source.samples(), 3);
  EXPECT_EQ(source.batches_per_epoch(), 2);
  const Batch batch = source.batch({0, 0});
  // The tokenizer has no padding token: the one for the end, 256, takes its place.
  EXPECT_THAT(batch.input_ids, ElementsAre('a', ' ', 'x', 256, 256, 256, 'b', ' ', 'x', 256, 256, 256));
  EXPECT_THAT(batch.targets, ElementsAre(' ', 'x', 256, kNone, kNone, kNone,  //
                                         ' ', 'x', 256, kNone, kNone, kNone));
  EXPECT_THAT(batch.token_type_ids, Each(0));
  EXPECT_THAT(batch.token_type_ids, SizeIs(12));
  EXPECT_THAT(batch.lengths, ElementsAre(4, 4));
  EXPECT_EQ(batch.samples, 2);
  EXPECT_EQ(batch.tokens, 6);
}

TEST(SampleBatches, LastBatchIsFilledWithUnusedRows) {
  const SampleSet samples = next_token_samples(3);
  SampleBatches source(samples, ByteTokenizer::gpt2(), {.batch_size = 2, .shuffle = false});
  const Batch batch = source.batch({0, 1});
  EXPECT_THAT(batch.input_ids, ElementsAre('c', ' ', 'x', 256, 256, 256, 256, 256, 256, 256, 256, 256));
  EXPECT_THAT(batch.targets, ElementsAre(' ', 'x', 256, kNone, kNone, kNone,  //
                                         kNone, kNone, kNone, kNone, kNone, kNone));
  EXPECT_THAT(batch.lengths, ElementsAre(4, 1));
  EXPECT_EQ(batch.samples, 1);
  EXPECT_EQ(batch.tokens, 3);
  EXPECT_THAT(source.samples_of({0, 1}), ElementsAre(2));
}

TEST(SampleBatches, CutSamplesHaveNoTargetAtTheEnd) {
  const SampleSet samples = next_token_samples(1, 3);
  SampleBatches source(samples, ByteTokenizer::gpt2(), {});
  EXPECT_THAT(source.batch({0, 0}).input_ids, ElementsAre('a', ' ', 'x'));
  EXPECT_THAT(source.batch({0, 0}).targets, ElementsAre(' ', 'x', kNone));
}

TEST(SampleBatches, MaskedTokenBatch) {
  const SampleSet samples = masked_samples(3);  // [CLS] letter [SEP] x [SEP]: 5 tokens of 6
  SampleBatches source(samples, ByteTokenizer::bert(), {.batch_size = 2, .shuffle = false});
  const Batch batch = source.batch({0, 1});
  EXPECT_THAT(batch.token_type_ids, ElementsAre(0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(batch.lengths, ElementsAre(5, 1));
  EXPECT_EQ(batch.samples, 1);
  EXPECT_THAT(std::vector(batch.input_ids.begin() + 5, batch.input_ids.end()), Each(256));
  EXPECT_EQ(batch.input_ids[0], 258);
  EXPECT_EQ(batch.tokens, 12 - std::count(batch.targets.begin(), batch.targets.end(), kNone));
  EXPECT_GE(batch.tokens, 1);
}

TEST(SampleBatches, EverySampleOncePerEpochInAnOrderOfItsOwn) {
  const SampleSet samples = next_token_samples(23);
  SampleBatches source(samples, ByteTokenizer::gpt2(), {.batch_size = 5, .seed = 9});
  std::vector<std::int64_t> first = samples_of_epoch(source, 0);
  const std::vector<std::int64_t> second = samples_of_epoch(source, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, samples_of_epoch(source, 0));
  SampleBatches other(samples, ByteTokenizer::gpt2(), {.batch_size = 5, .seed = 10});
  EXPECT_NE(first, samples_of_epoch(other, 0));
  // The size of the batches does not change the order.
  SampleBatches larger(samples, ByteTokenizer::gpt2(), {.batch_size = 8, .seed = 9});
  EXPECT_EQ(first, samples_of_epoch(larger, 0));
  std::sort(first.begin(), first.end());
  for (std::size_t i = 0; i < 23; ++i) EXPECT_EQ(first[i], static_cast<std::int64_t>(i));
}

TEST(SampleBatches, AnyBatchCanBeAskedForAtAnyTime) {
  const SampleSet samples = masked_samples(11);
  const BatchOptions options{.batch_size = 4, .seed = 2};
  SampleBatches whole(samples, ByteTokenizer::bert(), options);
  DataPosition position;
  for (int step = 0; step < 7; ++step) {  // 3 batches per epoch
    SampleBatches resumed(samples, ByteTokenizer::bert(), options);
    const Batch expected = whole.batch(position);
    const Batch batch = resumed.batch(position);
    EXPECT_EQ(batch.input_ids, expected.input_ids);
    EXPECT_EQ(batch.targets, expected.targets);
    EXPECT_EQ(batch.lengths, expected.lengths);
    position = whole.after(position);
  }
  EXPECT_EQ(position, (DataPosition{.epoch = 2, .batch = 1}));
}

// The row of each sample, wherever it is.
std::vector<std::vector<std::int32_t>> rows_by_sample(BatchSource& source, std::int64_t epoch,
                                                      std::int64_t ranks) {
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(source.samples()));
  for (std::int64_t index = 0; index < source.batches_per_epoch(); ++index) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const Batch batch = source.batch({epoch, index}, {rank, ranks});
      const std::vector<std::int64_t> numbers = source.samples_of({epoch, index}, {rank, ranks});
      EXPECT_EQ(batch.samples, static_cast<std::int64_t>(numbers.size()));
      for (std::size_t row = 0; row < numbers.size(); ++row) {
        auto& found = rows[static_cast<std::size_t>(numbers[row])];
        EXPECT_THAT(found, IsEmpty()) << "sample " << numbers[row] << " twice";
        const auto begin = batch.input_ids.begin() + static_cast<std::ptrdiff_t>(row * 6);
        found.assign(begin, begin + 6);
        const auto targets = batch.targets.begin() + static_cast<std::ptrdiff_t>(row * 6);
        found.insert(found.end(), targets, targets + 6);
      }
    }
  }
  return rows;
}

TEST(SampleBatches, MasksDoNotDependOnBatchesOrRanks) {
  const SampleSet samples = masked_samples(11);
  SampleBatches four(samples, ByteTokenizer::bert(), {.batch_size = 4, .seed = 2});
  SampleBatches six(samples, ByteTokenizer::bert(), {.batch_size = 6, .seed = 2});
  const auto rows = rows_by_sample(four, 1, 1);
  EXPECT_THAT(rows, Each(SizeIs(12)));
  EXPECT_EQ(rows, rows_by_sample(four, 1, 2));
  EXPECT_EQ(rows, rows_by_sample(six, 1, 3));
  EXPECT_NE(rows, rows_by_sample(four, 2, 1));
}

TEST(SampleBatches, RanksHaveRunsOfRows) {
  const SampleSet samples = next_token_samples(7);
  SampleBatches source(samples, ByteTokenizer::gpt2(), {.batch_size = 4, .shuffle = false});
  EXPECT_THAT(source.samples_of({0, 0}, {0, 2}), ElementsAre(0, 1));
  EXPECT_THAT(source.samples_of({0, 0}, {1, 2}), ElementsAre(2, 3));
  EXPECT_THAT(source.samples_of({0, 1}, {0, 2}), ElementsAre(4, 5));
  EXPECT_THAT(source.samples_of({0, 1}, {1, 2}), ElementsAre(6));
  // A rank without a sample has a batch of its size all the same.
  const Batch none = source.batch({0, 1}, {3, 4});
  EXPECT_EQ(none.samples, 0);
  EXPECT_EQ(none.tokens, 0);
  EXPECT_THAT(none.lengths, ElementsAre(1));
  EXPECT_THAT(none.targets, Each(kNone));
}

TEST(SampleBatches, RefusesSizesThatMakeNoSense) {
  const SampleSet samples = next_token_samples(7);
  const auto error_of = [&](std::int64_t batch_size, const Part& part) {
    try {
      SampleBatches source(samples, ByteTokenizer::gpt2(), {.batch_size = batch_size});
      source.batch({0, 0}, part);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_THAT(error_of(0, {}), HasSubstr("not positive"));
  EXPECT_THAT(error_of(std::numeric_limits<std::int64_t>::max(), {}), HasSubstr("too large"));
  EXPECT_THAT(error_of(4, {0, 3}), HasSubstr("4 samples cannot be dealt out evenly to 3 ranks"));
}

TEST(SampleBatches, RefusesAPositionThatTheDataDoesNotHave) {
  const SampleSet samples = next_token_samples(7);
  const SampleBatches source(samples, ByteTokenizer::gpt2(), {.batch_size = 2});  // 4 batches
  EXPECT_NO_THROW(source.check_position({5, 3}, {}));
  EXPECT_THROW(source.check_position({-1, 0}, {}), Error);
  EXPECT_THROW(source.check_position({0, -1}, {}), Error);
  try {
    source.check_position({2, 4}, {.file = "state.json"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().file, "state.json");
    EXPECT_THAT(error.message(), HasSubstr("batch 4 of epoch 2 does not exist"));
    EXPECT_THAT(error.message(), HasSubstr("7 samples has 4 batches of 2"));
  }
}

}  // namespace
}  // namespace nadi::inline files
