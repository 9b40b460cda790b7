#include "nadi/graph/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace nadi::inline describe {
namespace {

// The rate of step `step`, counted from 1.
double learning_rate_of(const LearningRate& rate, int step) {
  return learning_rate_at(rate, step - 1);
}

TEST(LearningRate, WarmsUpInAStraightLine) {
  const LearningRate rate{.peak = 8, .warmup = 4, .total = 12};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1), 2);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 2), 4);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 4), 8);
}

// 8 steps of decay: the fifth step is the first of them and still has the peak.
TEST(LearningRate, FallsInAStraightLine) {
  const LearningRate rate{.peak = 8, .warmup = 4, .total = 12};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 8);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 6), 7);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 12), 1);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 13), 0);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1000), 0);
}

TEST(LearningRate, FallsAlongACosine) {
  const LearningRate rate{.decay = Decay::kCosine, .peak = 3, .minimum = 1, .total = 4};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1), 3);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 3), 2);  // half of the way: cos(pi / 2) = 0
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 1);
}

TEST(LearningRate, MayStay) {
  const LearningRate rate{.decay = Decay::kConstant, .peak = 3, .warmup = 2, .total = 4};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1), 1.5);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 400), 3);
}

// After a warm-up of 4 steps, 16 steps done are 4 times as many: half of the peak.
TEST(LearningRate, FallsWithTheSquareRootOfTheSteps) {
  const LearningRate rate{
      .decay = Decay::kInverseSquareRoot, .peak = 8, .minimum = 3, .warmup = 4, .total = 100};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 4), 8);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 8);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 17), 4);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 65), 3) << "8 * sqrt(4 / 64) = 2 is below the minimum";
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1000), 3);
  const LearningRate cold{.decay = Decay::kInverseSquareRoot, .peak = 8, .total = 100};
  EXPECT_DOUBLE_EQ(learning_rate_of(cold, 1), 8);
  EXPECT_DOUBLE_EQ(learning_rate_of(cold, 5), 4);
}

TEST(LearningRate, TheDecayMayEndBeforeTheRun) {
  const LearningRate rate{.peak = 8, .minimum = 2, .decay_end = 3, .total = 10};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 2), 6);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 4), 2);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 9), 2);
}

// As Megatron counts: a step has the rate of the steps before it, and the peak comes after the warm-up.
TEST(LearningRate, TheWarmUpMayComeAStepLater) {
  const LearningRate rate{.peak = 9, .start = 1, .warmup = 4, .total = 12, .late_warmup = true};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 1), 1);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 2), 3);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 9);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 6), 9 - 9.0 / 8);
}

TEST(LearningRate, IsDefinedWhereTheWarmUpIsLongerThanTheRun) {
  const LearningRate rate{.peak = 8, .warmup = 4, .total = 2};
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 2), 4);
  EXPECT_DOUBLE_EQ(learning_rate_of(rate, 5), 8);
}

// In batches of 8, with a warm-up of 2.5 steps = 20 samples and an end after 100 samples: before step 1 there
// are 0 samples, before step 2 there are 8 = 2/5 of the warm-up, before step 4 there are 24, 4 of the 80
// samples of the decay.
TEST(LearningRate, MayGoBySamples) {
  const LearningRate rate{
      .peak = 10, .unit = ScheduleUnit::kSamples, .warmup = 20, .total = 100, .late_warmup = true};
  EXPECT_DOUBLE_EQ(learning_rate_at(rate, 0), 0);
  EXPECT_DOUBLE_EQ(learning_rate_at(rate, 8), 4);
  EXPECT_DOUBLE_EQ(learning_rate_at(rate, 24), 9.5);
  EXPECT_DOUBLE_EQ(learning_rate_at(rate, 100), 0);
}

// 4 steps of warm-up, stable until 20 - 10 = 10 are done, then down from 9 to 1 until 20 are done. After 5 of
// the 10, x = 1/2: 2 * 0.5^0.5 - 1 = sqrt(2) - 1; 1/2; cos(pi / 2) = 0 is half of the wave; 1 - sqrt(1/2).
TEST(LearningRate, MayBeStableAndThenFall) {
  LearningRate rate{.decay = Decay::kWarmupStableDecay,
                    .peak = 9,
                    .minimum = 1,
                    .warmup = 4,
                    .total = 20,
                    .stable_decay_length = 10,
                    .late_warmup = true};
  EXPECT_EQ(to_string(rate.decay), "WSD");
  for (const auto& [style, half] : {std::pair{StableDecay::kExponential, 1 + 8 * (std::sqrt(2.0) - 1)},
                                    {StableDecay::kLinear, 5.0},
                                    {StableDecay::kCosine, 5.0},
                                    {StableDecay::kMinusSquareRoot, 9 - 8 * std::sqrt(0.5)}}) {
    rate.stable_decay = style;
    EXPECT_DOUBLE_EQ(learning_rate_at(rate, 2), 4.5);
    EXPECT_DOUBLE_EQ(learning_rate_at(rate, 5), 9);
    EXPECT_DOUBLE_EQ(learning_rate_at(rate, 10), 9);
    EXPECT_LT(learning_rate_at(rate, 11), 9);
    EXPECT_DOUBLE_EQ(learning_rate_at(rate, 15), half);
    EXPECT_NEAR(learning_rate_at(rate, 20), 1, 1e-15);
    EXPECT_NEAR(learning_rate_at(rate, 400), 1, 1e-15);
  }
}

// From 0.01 to 0.09 over 80: a quarter of the way is 0.03 in a straight line; along a cosine half of
// 1 - cos(pi / 4) of it.
TEST(WeightDecay, MayGrow) {
  WeightDecaySchedule schedule{
      .growth = WeightDecayGrowth::kLinear, .start = 0.01, .end = 0.09, .length = 80};
  EXPECT_DOUBLE_EQ(weight_decay_at(schedule, 0), 0.01);
  EXPECT_DOUBLE_EQ(weight_decay_at(schedule, 20), 0.03);
  EXPECT_DOUBLE_EQ(weight_decay_at(schedule, 80), 0.09);
  EXPECT_DOUBLE_EQ(weight_decay_at(schedule, 800), 0.09);
  schedule.growth = WeightDecayGrowth::kCosine;
  EXPECT_DOUBLE_EQ(weight_decay_at(schedule, 20), 0.01 + 0.08 * (1 - std::sqrt(0.5)) / 2);
  EXPECT_DOUBLE_EQ(weight_decay_at(schedule, 40), 0.05);
  schedule.growth = WeightDecayGrowth::kConstant;
  EXPECT_DOUBLE_EQ(weight_decay_at(schedule, 20), 0.09);
}

}  // namespace
}  // namespace nadi::inline describe
