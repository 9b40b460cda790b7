#include "nadi/train/batch_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/random.h"

namespace nadi::inline runs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<BatchSchedule::Phase> phases_of(const BatchSchedule& schedule) {
  return {schedule.phases().begin(), schedule.phases().end()};
}

// From 4 to 12 in 2 increments of 4 over 24 samples, so one after every 24 / 2 = 12 samples:
//   step             1  2  3   4   5   6   7
//   samples before   0  4  8  12  20  28  40
//   12s in them      0  0  0   1   1   (past 24)
//   size             4  4  4   8   8  12  12
TEST(BatchSchedule, RampsUpOverConsumedSamples) {
  const auto ramp = BatchSchedule::ramp_up({.start = 4, .increment = 4, .samples = 24, .size = 12});
  EXPECT_THAT(phases_of(ramp), ElementsAre(BatchSchedule::Phase{1, 0, 4}, BatchSchedule::Phase{4, 12, 8},
                                           BatchSchedule::Phase{6, 28, 12}));
  std::vector<std::int64_t> sizes, before;
  for (std::int64_t step = 1; step <= 7; ++step) {
    sizes.push_back(ramp.size_of(step));
    before.push_back(ramp.samples_before(step));
  }
  EXPECT_THAT(sizes, ElementsAre(4, 4, 4, 8, 8, 12, 12));
  EXPECT_THAT(before, ElementsAre(0, 4, 8, 12, 20, 28, 40));
  EXPECT_EQ(ramp.largest(), 12);
  EXPECT_FALSE(ramp.is_constant());
}

// Batches of 6 pass two thresholds (2 and 4 samples) at once: 7 and 8 are never used.
TEST(BatchSchedule, ALargeBatchSkipsSizes) {
  const auto ramp = BatchSchedule::ramp_up({.start = 6, .increment = 1, .samples = 8, .size = 10});
  EXPECT_THAT(phases_of(ramp), ElementsAre(BatchSchedule::Phase{1, 0, 6}, BatchSchedule::Phase{2, 6, 9},
                                           BatchSchedule::Phase{3, 15, 10}));
}

// Megatron's calculator and its count of iterations (release 0.12), statement by statement.
struct Megatron {
  std::int64_t start, increment, samples, size;

  std::int64_t size_at(std::int64_t consumed) const {
    if (consumed > samples) return size;
    const std::int64_t num_increments = (size - start) / increment;
    const double samples_per_increment = static_cast<double>(samples) / static_cast<double>(num_increments);
    const auto steps = static_cast<std::int64_t>(static_cast<double>(consumed) / samples_per_increment);
    return start + steps * increment;
  }
  std::int64_t train_iters(std::int64_t train_samples) const {
    std::int64_t iterations = 0, consumed = 0;
    while (consumed <= samples && consumed <= train_samples) {
      consumed += size_at(consumed);
      ++iterations;
    }
    if (train_samples > consumed) iterations += (train_samples - consumed) / size;
    return iterations;
  }
};

TEST(BatchSchedule, IsMegatronsForAnyRampUp) {
  const RandomKey key{.seed = 7, .site = site_of("batch_schedule_test")};
  std::uint64_t drawn = 0;
  const auto draw = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random_word(key, drawn++)) % most;
  };
  for (int trial = 0; trial < 300; ++trial) {
    Megatron megatron{.start = draw(64), .increment = draw(32), .samples = draw(20000), .size = 0};
    megatron.size = megatron.start + megatron.increment * draw(40);
    SCOPED_TRACE(testing::Message() << megatron.start << " " << megatron.increment << " " << megatron.samples
                                    << " to " << megatron.size);
    const auto ramp = BatchSchedule::ramp_up({.start = megatron.start,
                                              .increment = megatron.increment,
                                              .samples = megatron.samples,
                                              .size = megatron.size});
    std::int64_t consumed = 0;
    for (std::int64_t step = 1; consumed < megatron.samples + 3 * megatron.size; ++step) {
      ASSERT_EQ(ramp.samples_before(step), consumed);
      ASSERT_EQ(ramp.size_of(step), megatron.size_at(consumed)) << "step " << step;
      consumed += megatron.size_at(consumed);
    }
    for (int i = 0; i < 20; ++i) {
      const std::int64_t samples = draw(40000);
      ASSERT_EQ(ramp.steps_of_samples(samples), megatron.train_iters(samples)) << samples;
    }
  }
}

// The script for GPT-3: 95 increments of 16 from 16 to 1536, one every 5859375 / 95 = 61677.6 samples.
TEST(BatchSchedule, OfGpt3) {
  const Megatron megatron{.start = 16, .increment = 16, .samples = 5859375, .size = 1536};
  const auto ramp = BatchSchedule::ramp_up({.start = 16, .increment = 16, .samples = 5859375, .size = 1536});
  EXPECT_EQ(ramp.phases().size(), 96u);
  EXPECT_EQ(ramp.phases()[1].first_step, 61678 / 16 + 2);  // 3855 steps reach 61680, past the threshold
  EXPECT_EQ(ramp.steps_of_samples(300'000'000), megatron.train_iters(300'000'000));
}

// Sizes 4, 6, 8 in whole micro-batches of 4: 4, 4, 8; consumed samples are those of the sizes used.
TEST(BatchSchedule, RoundsDown) {
  const auto ramp =
      BatchSchedule::ramp_up({.start = 4, .increment = 2, .samples = 16, .size = 8, .multiple_of = 4});
  EXPECT_THAT(phases_of(ramp), ElementsAre(BatchSchedule::Phase{1, 0, 4}, BatchSchedule::Phase{5, 16, 8}));
}

TEST(BatchSchedule, ARampUpOfNothingIsConstant) {
  EXPECT_EQ(BatchSchedule::ramp_up({.start = 8, .increment = 4, .samples = 100, .size = 8}),
            BatchSchedule::constant(8));
  EXPECT_EQ(BatchSchedule::ramp_up({.start = 4, .increment = 4, .samples = 0, .size = 8}),
            BatchSchedule::constant(8));
}

// Until 10 samples batches of 4: steps begin at 0, 4, 8; then of 6 until 20: 12, 18; then of 2.
TEST(BatchSchedule, Stepwise) {
  const std::vector<BatchSchedule::Change> changes{{0, 4}, {10, 6}, {20, 2}};
  const auto schedule = BatchSchedule::stepwise(changes);
  EXPECT_THAT(phases_of(schedule), ElementsAre(BatchSchedule::Phase{1, 0, 4}, BatchSchedule::Phase{4, 12, 6},
                                               BatchSchedule::Phase{6, 24, 2}));
  EXPECT_EQ(schedule.largest(), 6);
  // As many steps as reach the samples: 12 after three, 18 after four, 24 after five.
  EXPECT_EQ(schedule.steps_of_samples(12), 3);
  EXPECT_EQ(schedule.steps_of_samples(13), 4);
  EXPECT_EQ(schedule.steps_of_samples(24), 5);
  EXPECT_EQ(schedule.steps_of_samples(25), 6);
}

TEST(BatchSchedule, ConstantLeavesTheRestOut) {
  const auto constant = BatchSchedule::constant(8);
  EXPECT_TRUE(constant.is_constant());
  EXPECT_EQ(constant.steps_of_samples(31), 3);
  EXPECT_EQ(constant.samples_before(4), 24);
  // 7 samples in batches of 2: 4 steps per epoch.
  EXPECT_EQ(BatchSchedule::constant(2).steps_of_epochs(7, 3), 12);
}

// Epochs of 10 samples with sizes 4, 4, 4, 8, 8, 12, ...: 4 + 4 + (2 of 4) | 8 + (2 of 8) | 10 of 12 | ...
TEST(BatchSchedule, EpochsEndWithTheirLastSample) {
  const auto ramp = BatchSchedule::ramp_up({.start = 4, .increment = 4, .samples = 24, .size = 12});
  EXPECT_EQ(ramp.steps_of_epochs(10, 1), 3);
  EXPECT_EQ(ramp.steps_of_epochs(10, 2), 5);
  EXPECT_EQ(ramp.steps_of_epochs(10, 3), 6);
  EXPECT_EQ(ramp.steps_of_epochs(10, 1003), 1006);
  using Position = BatchSchedule::Position;
  EXPECT_EQ(ramp.position_after(0, 10), (Position{0, 0}));
  EXPECT_EQ(ramp.position_after(2, 10), (Position{0, 2}));
  EXPECT_EQ(ramp.position_after(3, 10), (Position{1, 0}));
  EXPECT_EQ(ramp.position_after(4, 10), (Position{1, 1}));
  EXPECT_EQ(ramp.position_after(5, 10), (Position{2, 0}));
  EXPECT_EQ(ramp.position_after(1005, 10), (Position{1002, 0}));
}

std::string refusal(const BatchSchedule::RampUp& ramp) {
  try {
    BatchSchedule::ramp_up(ramp);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.message();
  }
  return "no error";
}

TEST(BatchSchedule, RefusesWhatLeadsNowhere) {
  EXPECT_EQ(refusal({.start = 16, .increment = 16, .samples = 100, .size = 8}),
            "the batch size cannot ramp up from 16 to 8");
  EXPECT_EQ(refusal({.start = 4, .increment = 3, .samples = 100, .size = 12}),
            "from a batch of 4 samples, increments of 3 do not lead to 12");
  EXPECT_THAT(refusal({.start = 0, .increment = 3, .samples = 100, .size = 12}),
              HasSubstr("a batch of 0 samples: it must be 1 to "));
  EXPECT_THAT(refusal({.start = 1, .increment = 1, .samples = 100, .size = 1'000'000'000}),
              HasSubstr("the limit is"));
  EXPECT_THAT(refusal({.start = 2, .increment = 2, .samples = 100, .size = 8, .multiple_of = 4}),
              HasSubstr("less than one micro-batch"));
  const std::vector<BatchSchedule::Change> late{{5, 4}}, back{{0, 4}, {9, 8}, {9, 16}};
  EXPECT_THROW(BatchSchedule::stepwise(late), Error);
  EXPECT_THROW(BatchSchedule::stepwise(back), Error);
}

}  // namespace
}  // namespace nadi::inline runs
