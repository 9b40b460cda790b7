#include "nadi/megatron_checkpoint/optimizer_layout.h"

#include <gmock/gmock.h>

#include "nadi/base/error.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OptimizerLayout, GroupsParametersByWeightDecayInTheOrderOfTheirFirst) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 2);
  const MegatronSplit split{.pp = 2, .naming = MegatronNaming::kLocal};
  // The first stage begins with the embeddings, the second with a norm.
  const std::vector<ShardTensor> first = ShardLayout(config, split).rank({.pp = 0}).front().tensors;
  const std::vector<OptimizerGroup> groups = optimizer_groups(first);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_TRUE(groups[0].decays);
  EXPECT_THAT(groups[0].parameters, ElementsAre(0, 2, 3, 5, 6));
  EXPECT_THAT(groups[1].parameters, ElementsAre(1, 4));
  const std::vector<ShardTensor> second = ShardLayout(config, split).rank({.pp = 1}).front().tensors;
  EXPECT_FALSE(optimizer_groups(second)[0].decays);
}

// As Megatron-LM core_v0.12.3 has it in a file: GPT-2, 4 layers, width 32, 256 rows of vocabulary; positions
// of the model's tensors in their common storage.
TEST(OptimizerLayout, LaysParametersOutAsMegatronDoes) {
  const ModelConfig config{.name = "gpt",
                           .architecture = architecture_named("gpt2"),
                           .vocabulary = 251,
                           .positions = 32,
                           .layers = 4,
                           .width = 32,
                           .heads = 4,
                           .kv_heads = 4,
                           .head_width = 8,
                           .ffn_width = 128};
  const std::vector<ShardTensor> tensors =
      ShardLayout(config, {.naming = MegatronNaming::kLocal}).rank({}).front().tensors;
  const FlatBuffer buffer = flat_buffer(tensors, {.flat = {.ranks = 2}});
  EXPECT_EQ(buffer.elements, 61056);
  EXPECT_THAT(std::vector(buffer.first.begin(), buffer.first.begin() + 14),
              ElementsAre(52864, 51840, 51776, 51712, 50688, 50624, 47552, 47424, 47360, 47296, 43200, 43072,
                          38976, 38912));
  EXPECT_EQ(buffer.first.back(), 0);
}

std::vector<ShardTensor> vectors(std::initializer_list<std::int64_t> sizes) {
  std::vector<ShardTensor> list;
  for (const std::int64_t size : sizes)
    list.push_back({.name = "p" + std::to_string(list.size()), .shape = {size}});
  return list;
}

// By hand: from the last one on, a bucket is full after 100 elements, and padding between buckets is left
// out.
TEST(OptimizerLayout, LeavesThePaddingBetweenBucketsOut) {
  const std::vector<ShardTensor> list = vectors({10, 70, 50, 90});
  const FlatBuffer buffer = flat_buffer(list, {.flat = {.ranks = 2, .full = 100}});
  // p3 [0, 90), p2 from 128 to 178: full, 178 elements; p1 [0, 70) of the next, p0 from 128 to 138.
  EXPECT_THAT(buffer.first, ElementsAre(178 + 128, 178, 128, 0));
  EXPECT_EQ(buffer.elements, 178 + 138);
}

TEST(OptimizerLayout, GivesTiedEmbeddingsABucketOfTheirOwn) {
  const std::vector<ShardTensor> list = vectors({256, 128, 128});
  const FlatBuffer first = flat_buffer(list, {.shared_embedding = "p0"});
  EXPECT_THAT(first.first, ElementsAre(256, 128, 0));
  EXPECT_EQ(first.elements, 512);
  const FlatBuffer last = flat_buffer(list, {.shared_embedding = "p2"});
  EXPECT_THAT(last.first, ElementsAre(256, 128, 0));
  const std::vector<ShardTensor> odd = vectors({256, 64});
  try {
    flat_buffer(odd, {.shared_embedding = "p0"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("loses the first 64 elements of 'p0'"));
  }
}

}  // namespace
}  // namespace nadi::inline files
