#include "nadi/parallel/parameter_layout.h"

#include <gmock/gmock.h>

namespace nadi::inline describe {
namespace {

using testing::ElementsAre;

std::vector<ReadyParameter> matrices(std::initializer_list<std::int64_t> sizes) {
  std::vector<ReadyParameter> list;
  for (const std::int64_t size : sizes)
    list.push_back({.parameter = {.elements = size, .rows = 8, .decays = true},
                    .ready_after = static_cast<std::uint32_t>(list.size())});
  return list;
}

std::vector<std::int64_t> sizes_of(const ParameterLayout& layout) {
  std::vector<std::int64_t> sizes;
  for (const ParameterBucket& bucket : layout.buckets) sizes.push_back(bucket.elements);
  return sizes;
}

TEST(FullBucket, IsASixteenthOfTheRankWithinBounds) {
  EXPECT_EQ(full_bucket({}, {.elements = 160'000'000}), 10'000'000);
  EXPECT_EQ(full_bucket({}, {.elements = 16}), 1'000'000);
  EXPECT_EQ(full_bucket({}, {.elements = 16'000'000'000}), 40'000'000);
  EXPECT_EQ(full_bucket({.bucket_elements = 7}, {.elements = 16}), 7);
}

// 40 million elements up to 40 ranks, then a million for each; one bucket in all chunks but the model's first.
TEST(FullBucket, OfMegatronGrowsWithTheRanks) {
  const LayoutRules megatron{.rule = BucketRule::kMegatron};
  EXPECT_EQ(full_bucket(megatron, {.ranks = 40, .first_chunk = true}), 40'000'000);
  EXPECT_EQ(full_bucket(megatron, {.ranks = 512, .first_chunk = true}), 512'000'000);
  EXPECT_GT(full_bucket(megatron, {.ranks = 512}), 1'000'000'000'000);
}

TEST(ParameterLayout, FillsBucketsAsGradientsAreReady) {
  std::vector<ReadyParameter> parameters = matrices({80, 40, 56, 16});
  parameters[1].parameter.decays = false;  // a vector: a bucket of its own
  const ParameterLayout layout(parameters, {.rules = {.bucket_elements = 100}});
  // 80 + 56 are more than 100; then 16 and, of the other kind, 40, which was ready before.
  EXPECT_THAT(sizes_of(layout), ElementsAre(40, 136, 16));
  EXPECT_EQ(layout.buckets[1].ready_after, 2u);
  EXPECT_EQ(layout.buckets[1].members[1].parameter, 2u);
  EXPECT_EQ(layout.buckets[1].members[1].start, 80);
  EXPECT_THAT(layout.by_first_use(), ElementsAre(2, 1, 0)) << "what is ready last is needed first";
}

TEST(ParameterLayout, DividesBucketsAmongTheRanksThatReduceThem) {
  Plan plan{.tp = 2, .dp = 4, .sequence_parallel = true, .zero_stage = 1};
  std::vector<ReadyParameter> parameters = matrices({81, 40});
  parameters[1].parameter.replicated = true;
  const ParameterLayout layout(parameters, stage_layout({}, plan, 0));
  ASSERT_EQ(layout.buckets.size(), 2u);
  EXPECT_EQ(layout.buckets[0].part, 21) << "84 elements with padding, of four ranks";
  EXPECT_FALSE(layout.buckets[0].at_end);
  EXPECT_TRUE(layout.buckets[1].partial && layout.buckets[1].at_end) << "summed over tensor ranks first";
  // Parameters that no other rank has, as of a tensor-parallel group here, are in buckets of their own, and whole.
  parameters[0].parameter.reduced_over = GroupKind::kPipeline;
  EXPECT_EQ(ParameterLayout(parameters, stage_layout({}, plan, 0)).buckets[0].part, 0);
}

// A bucket of 10 + 20 + 6 elements, of which each of three ranks has 12.
TEST(ShardOf, FlatPartsBeginAndEndWithinTensors) {
  const ShardedTensor second{.part = 12, .start = 10, .elements = 20};
  EXPECT_EQ(shard_of(second, 0), (ShardOfTensor{0, 2, 10}));
  EXPECT_EQ(shard_of(second, 1), (ShardOfTensor{2, 14, 0}));
  EXPECT_EQ(shard_of(second, 2), (ShardOfTensor{14, 20, 0}));
  const PlacesInGroup third = holders_of({.part = 12, .start = 30, .elements = 6});
  EXPECT_EQ(third.first, 2);
  EXPECT_EQ(third.end, 3);
}

// Five rows of 3 over four ranks, as FSDP2 cuts: two rows, two, one, none.
TEST(ShardOf, RowsLeaveTheLastRanksLess) {
  const ShardedTensor rows{.form = ShardForm::kRows, .part = 2, .elements = 15, .row = 3};
  EXPECT_EQ(shard_of(rows, 0), (ShardOfTensor{0, 6, 0}));
  EXPECT_EQ(shard_of(rows, 2), (ShardOfTensor{12, 15, 0}));
  EXPECT_EQ(shard_of(rows, 3), (ShardOfTensor{15, 15, 0}));
  EXPECT_EQ(holders_of(rows).end, 3);
}

}  // namespace
}  // namespace nadi::inline describe
