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

TEST(LearningRate, IsDefinedWhereTheWarmUpIsLongerThanTheRun) {
  const LearningRate rate{.peak = 8, .warmup_steps = 4, .total_steps = 2};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 2), 4);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 8);
}

}  // namespace
}  // namespace nadi
