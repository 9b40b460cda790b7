#include "nadi/checkpoint_inspection/tensor_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nadi/base/files_for_tests.h"
#include "nadi/checkpoint_inspection/weights_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class TensorComparisonTest : public FolderTest {
 protected:
  CheckpointComparison compare(const std::vector<SmallTensor>& a, const std::vector<SmallTensor>& b,
                               const ComparisonOptions& options = {}) {
    write_small_weights((folder_ / "a.safetensors"), a);
    write_small_weights((folder_ / "b.safetensors"), b);
    return compare_tensors(*open_stored_tensors((folder_ / "a.safetensors")),
                           *open_stored_tensors((folder_ / "b.safetensors")), options);
  }
};

TEST_F(TensorComparisonTest, LargestDifferencesOfATensor) {
  const CheckpointComparison compared =
      compare({{"w", Shape{2, 3}, {1, 2, 3, 4, 100, 6}}}, {{"w", Shape{2, 3}, {1, 2.5, 3, 4, 90, 6}}});
  ASSERT_THAT(compared.tensors, SizeIs(1));
  EXPECT_EQ(compared.tensors[0].elements, 6);
  EXPECT_EQ(compared.tensors[0].different, 2);
  EXPECT_EQ(compared.tensors[0].largest_absolute, 10);          // 100 - 90
  EXPECT_DOUBLE_EQ(compared.tensors[0].largest_relative, 0.2);  // 0.5 / 2.5, more than 10 / 100
  EXPECT_EQ(compared.largest_absolute(), 10);
  EXPECT_FALSE(compared.equal());
}

TEST_F(TensorComparisonTest, NumbersThatAreNoneAreEqualOnlyToEachOther) {
  const float nan = std::nanf(""), infinite = INFINITY;
  const CheckpointComparison same =
      compare({{"w", Shape{3}, {nan, infinite, 0.0F}}}, {{"w", Shape{3}, {-nan, infinite, -0.0F}}});
  EXPECT_TRUE(same.equal());
  const CheckpointComparison other =
      compare({{"w", Shape{3}, {nan, infinite, 1}}}, {{"w", Shape{3}, {1, -infinite, 1}}});
  EXPECT_EQ(other.tensors[0].different, 2);
  EXPECT_EQ(other.tensors[0].largest_absolute, infinite);
}

// 1.5 is a bf16, 0.1 is not: it becomes 0.1000977 there.
TEST_F(TensorComparisonTest, TypesAreComparedAsNumbers) {
  const CheckpointComparison exact =
      compare({{"w", Shape{2}, {1.5, -2}}}, {{"w", Shape{2}, {1.5, -2}, FileDType::kBF16}});
  EXPECT_TRUE(exact.equal());
  EXPECT_EQ(exact.different_types(), 1);
  const CheckpointComparison rounded =
      compare({{"w", Shape{2}, {0.1F, 1}}}, {{"w", Shape{2}, {0.1F, 1}, FileDType::kBF16}});
  EXPECT_EQ(rounded.tensors[0].different, 1);
  EXPECT_NEAR(rounded.tensors[0].largest_absolute, 0.10009765625 - 0.1, 1e-8);
}

TEST_F(TensorComparisonTest, WhatIsMissingOrOfAnotherShapeIsNamed) {
  const CheckpointComparison compared = compare({{"a", Shape{1}, {1}}, {"both", Shape{2}, {1, 2}}},
                                                {{"b", Shape{1}, {1}}, {"both", Shape{1, 2}, {1, 2}}});
  EXPECT_THAT(compared.only_a, ElementsAre("a"));
  EXPECT_THAT(compared.only_b, ElementsAre("b"));
  ASSERT_THAT(compared.tensors, SizeIs(1));
  EXPECT_FALSE(compared.tensors[0].same_shape());
  EXPECT_EQ(compared.tensors[0].elements, 0);
  EXPECT_EQ(compared.different_tensors(), 1);
}

TEST_F(TensorComparisonTest, OptimizerStateCanBeLeftOut) {
  const std::vector<SmallTensor> training{
      {"w", Shape{1}, {1}}, {"w.m", Shape{1}, {2}}, {"w.v", Shape{1}, {3}}};
  EXPECT_THAT(compare(training, {{"w", Shape{1}, {1}}}).only_a, ElementsAre("w.m", "w.v"));
  const CheckpointComparison weights = compare(training, {{"w", Shape{1}, {1}}}, {.optimizer = false});
  EXPECT_TRUE(weights.equal());
  EXPECT_EQ(weights.skipped, 2);
}

// The same whatever is read at a time: a part of a row, a row, all.
TEST_F(TensorComparisonTest, BlocksOfAnySize) {
  std::vector<float> values(35);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  std::vector<float> others = values;
  others[33] += 3;
  others[6] -= 1;
  std::int64_t most = 0;
  for (const std::int64_t bytes : {1, 4, 12, 28, 60, 1000}) {
    Bytes last{0};
    const CheckpointComparison compared =
        compare({{"w", Shape{5, 7}, values}}, {{"w", Shape{5, 7}, others}},
                {.block_bytes = bytes, .progress = [&](Bytes done, Bytes total) {
                   EXPECT_EQ(total.count(), 140);
                   EXPECT_GT(done, last);
                   last = done;
                   ++most;
                 }});
    EXPECT_EQ(compared.tensors[0].different, 2) << bytes;
    EXPECT_EQ(compared.tensors[0].largest_absolute, 3) << bytes;
    EXPECT_EQ(last.count(), 140);
  }
  EXPECT_EQ(most, 35 + 35 + 5 * 3 + 5 + 3 + 1);  // 60 bytes: two rows of 28
}

}  // namespace
}  // namespace nadi::inline files
