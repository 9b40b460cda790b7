#include "nadi/train/learning_rate.h"

#include <gtest/gtest.h>

namespace nadi {
namespace {

TEST(LearningRate, WarmsUpInAStraightLine) {
  const LearningRate rate{.peak = 8, .warmup_steps = 4, .total_steps = 12};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1), 2);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 2), 4);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 4), 8);
}

// 8 steps of decay: the fifth step is the first of them and still has the peak.
TEST(LearningRate, FallsInAStraightLine) {
  const LearningRate rate{.peak = 8, .warmup_steps = 4, .total_steps = 12};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 8);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 6), 7);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 12), 1);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 13), 0);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1000), 0);
}

TEST(LearningRate, FallsAlongACosine) {
  const LearningRate rate{.decay = Decay::kCosine, .peak = 3, .minimum = 1, .total_steps = 4};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1), 3);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 3), 2);  // half of the way: cos(pi / 2) = 0
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 1);
}

TEST(LearningRate, MayStay) {
  const LearningRate rate{.decay = Decay::kConstant, .peak = 3, .warmup_steps = 2, .total_steps = 4};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1), 1.5);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 400), 3);
}

// After a warm-up of 4 steps, 16 steps done are 4 times as many: half of the peak.
TEST(LearningRate, FallsWithTheSquareRootOfTheSteps) {
  const LearningRate rate{
      .decay = Decay::kInverseSquareRoot, .peak = 8, .minimum = 3, .warmup_steps = 4, .total_steps = 100};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 4), 8);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 8);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 17), 4);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 65), 3) << "8 * sqrt(4 / 64) = 2 is below the minimum";
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1000), 3);
  const LearningRate cold{.decay = Decay::kInverseSquareRoot, .peak = 8, .total_steps = 100};
  EXPECT_DOUBLE_EQ(learning_rate_of(cold, 1), 8);
  EXPECT_DOUBLE_EQ(learning_rate_of(cold, 5), 4);
}

TEST(LearningRate, TheDecayMayEndBeforeTheRun) {
  const LearningRate rate{.peak = 8, .minimum = 2, .decay_steps = 3, .total_steps = 10};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 2), 6);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 4), 2);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 9), 2);
}

// As Megatron counts: a step has the rate of the steps before it, and the peak comes after the warm-up.
TEST(LearningRate, TheWarmUpMayComeAStepLater) {
  const LearningRate rate{.peak = 9, .start = 1, .warmup_steps = 4, .total_steps = 12, .late_warmup = true};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1), 1);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 2), 3);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 9);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 6), 9 - 9.0 / 8);
}

TEST(LearningRate, IsDefinedWhereTheWarmUpIsLongerThanTheRun) {
  const LearningRate rate{.peak = 8, .warmup_steps = 4, .total_steps = 2};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 2), 4);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 8);
}

}  // namespace
}  // namespace nadi
