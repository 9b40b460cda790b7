// Runs whose batch size changes while they go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/train/small_run_for_tests.h"

namespace nadi::inline runs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::int64_t> sizes_of(const Told& told) {
  std::vector<std::int64_t> sizes;
  for (const StepReport& report : told.steps) sizes.push_back(report.global_batch);
  return sizes;
}

std::vector<std::int64_t> consumed_of(const Told& told) {
  std::vector<std::int64_t> consumed;
  for (const StepReport& report : told.steps) consumed.push_back(report.consumed_samples);
  return consumed;
}

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> result;
  for (const double value : values) result.push_back(std::bit_cast<std::uint64_t>(value));
  return result;
}

// 2, 4, 6 over 8 samples: an increment every 8 / 2 = 4 samples.
//   step              1  2  3  4   5   6
//   samples before    0  2  4  8  14  20
//   size              2  2  4  6   6   6
class RampUp : public FolderTest {
 protected:
  RampUp() : run_(architecture_named("gpt2"), {.samples = 40}) {
    options_ = run_.options();
    options_.config.embedding_dropout = options_.config.attention_dropout = options_.config.residual_dropout =
        0.1;
    options_.batch_size = 2;
    options_.accumulation = 3;
    options_.batches = BatchSchedule::ramp_up({.start = 2, .increment = 2, .samples = 8, .size = 6});
    options_.max_steps = 6;
    options_.evaluate = false;
  }

  const SmallRun run_;
  TrainOptions options_;
};

TEST_F(RampUp, StepsHaveTheSizesOfTheSchedule) {
  const Told told = run_.train(options_);
  EXPECT_THAT(sizes_of(told), ElementsAre(2, 2, 4, 6, 6, 6));
  EXPECT_THAT(consumed_of(told), ElementsAre(2, 4, 8, 14, 20, 26));
}

// Before the first change it is the run with that batch size, to the bit: gradients that are added to zero.
TEST_F(RampUp, BeginsAsARunOfTheFirstSize) {
  const Told ramped = run_.train(options_);
  TrainOptions constant = options_;
  constant.batches.reset();
  constant.accumulation = 1;
  const Told first = run_.train(constant);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ramped.steps[i].tokens, first.steps[i].tokens);
  EXPECT_EQ(bits({ramped.losses()[0], ramped.losses()[1]}), bits({first.losses()[0], first.losses()[1]}));
  EXPECT_NE(ramped.losses()[2], first.losses()[2]);
}

// How a step is cut into micro-batches changes no sum but in its rounding.
TEST_F(RampUp, DoesNotDependOnTheMicroBatch) {
  const Told of_two = run_.train(options_);
  options_.batch_size = 1;
  options_.accumulation = 6;
  const Told of_one = run_.train(options_);
  ASSERT_EQ(of_one.steps.size(), of_two.steps.size());
  for (std::size_t i = 0; i < of_one.steps.size(); ++i) {
    EXPECT_NEAR(of_one.steps[i].loss, of_two.steps[i].loss, 2e-5) << "step " << i + 1;
    EXPECT_EQ(of_one.steps[i].tokens, of_two.steps[i].tokens);
  }
}

// All samples of an epoch, each once, whatever the sizes: 40 samples are 2 + 2 + 4 + 5 * 6 + 2 of 6.
TEST_F(RampUp, AnEpochEndsWithItsLastSample) {
  options_.max_steps = 0;
  options_.epochs = 2;
  const Told told = run_.train(options_);
  // The second epoch: 6 * 6 + 4 of 6.
  EXPECT_THAT(consumed_of(told), ElementsAre(2, 4, 8, 14, 20, 26, 32, 38, 40, 46, 52, 58, 64, 70, 76, 80));
  ASSERT_EQ(told.epochs.size(), 2u);
  std::int64_t first = 0, second = 0;
  for (const StepReport& report : told.steps) (report.epoch == 1 ? first : second) += report.tokens;
  EXPECT_EQ(first, run_.train_samples().statistics().tokens);
  EXPECT_EQ(second, first);
}

class ResumedRampUp : public RampUp, public testing::WithParamInterface<DType> {};

TEST_P(ResumedRampUp, GivesTheBitsOfARunWithoutAStop) {
  options_.dtype = GetParam();
  options_.optimizer.learning_rate = {.decay = Decay::kCosine,
                                      .peak = 3e-3,
                                      .unit = ScheduleUnit::kSamples,
                                      .warmup = 5,
                                      .total = 26,
                                      .late_warmup = true};
  options_.save_dir = folder_ / "whole";
  options_.save_steps = 1;
  const Told whole = run_.train(options_);
  for (std::int64_t stop_after = 1; stop_after < 6; ++stop_after) {
    SCOPED_TRACE("stopped after step " + std::to_string(stop_after));
    options_.save_dir = folder_ / std::to_string(stop_after);
    options_.resume_from.clear();
    options_.resume_from = run_.train(options_, stop_after).result.last_checkpoint;
    const Told rest = run_.train(options_);
    EXPECT_THAT(rest.notes, IsEmpty());
    const std::vector<double> losses = whole.losses();
    EXPECT_EQ(bits(rest.losses()), bits({losses.begin() + stop_after, losses.end()}));
    std::vector<std::int64_t> sizes = sizes_of(whole);
    sizes.erase(sizes.begin(), sizes.begin() + stop_after);
    EXPECT_EQ(sizes_of(rest), sizes);
    for (std::size_t i = 0; i < rest.steps.size(); ++i) {
      EXPECT_EQ(rest.steps[i].learning_rate, whole.steps[i + stop_after].learning_rate);
      EXPECT_EQ(rest.steps[i].consumed_samples, whole.steps[i + stop_after].consumed_samples);
    }
    EXPECT_EQ(read_training_state(options_.save_dir / checkpoint_name(6)),
              read_training_state(folder_ / "whole" / checkpoint_name(6)));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ResumedRampUp, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& named) { return std::string(to_string(named.param)); });

// Warm-up over 5 samples to 10, then straight down over 20 to 0: before the steps are 0, 2, 4, 8, 14, 20
// samples, so 0, 2/5 and 4/5 of the way up, then 3/20, 9/20 and 15/20 of the way down. The next one, after 26
// samples, is beyond the end.
TEST_F(RampUp, TheLearningRateGoesBySamples) {
  options_.optimizer.learning_rate = {
      .peak = 1e-2, .unit = ScheduleUnit::kSamples, .warmup = 5, .total = 25, .late_warmup = true};
  const Told told = run_.train(options_);
  const std::vector<double> expected{0, 4e-3, 8e-3, 8.5e-3, 5.5e-3, 2.5e-3, 0};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(told.steps[i].learning_rate, expected[i], 1e-15) << "step " << i + 1;
    EXPECT_NEAR(told.steps[i].next_learning_rate, expected[i + 1], 1e-15) << "step " << i + 1;
  }
}

TEST_F(RampUp, ARunWithOtherSizesCannotGoOn) {
  options_.save_dir = folder_ / "run";
  options_.resume_from = run_.train(options_, 3).result.last_checkpoint;
  options_.batches = BatchSchedule::ramp_up({.start = 4, .increment = 2, .samples = 8, .size = 6});
  const auto error = error_of([&] { run_.train(options_); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kUsage);
  // 4 until 8 samples, then 6: 4 + 4 + 6.
  EXPECT_THAT(
      error->message(),
      HasSubstr("the run consumed 8 samples in 3 steps; with these batch sizes it would have been 14"));
}

TEST_F(RampUp, EverySizeMustDivide) {
  options_.batches = BatchSchedule::ramp_up({.start = 3, .increment = 3, .samples = 8, .size = 6});
  const auto error = error_of([&] { run_.train(options_); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("a batch of 3 samples, from step 1 on, does not divide into "
                                          "micro-batches of 2"));
}

TEST_F(RampUp, ATraceIsOfOneSize) {
  options_.trace = {.folder = folder_ / "traces", .name = "run", .wait = 1, .warmup = 0, .active = 2};
  const auto error = error_of([&] { run_.train(options_); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("the tracing window, steps 2 to 3, has batches of 2 and of 4"));
  // Steps 1 and 2 have two samples each, 5 and 6 have six.
  for (const std::int64_t wait : {0, 4}) {
    options_.trace->wait = wait;
    options_.trace->overwrite = Overwrite::kAllow;
    EXPECT_EQ(run_.train(options_).traces.size(), 1u);
  }
}

// Weight decay grows from 0 to its end in 6 steps, so the first step has none of it: the weights after it are
// those of a run without weight decay, and after the second not.
TEST_F(RampUp, WeightDecayMayGrow) {
  options_.batches.reset();
  options_.save_dir = folder_ / "grows";
  options_.save_steps = 1;
  options_.optimizer.weight_decay = 0.5;
  options_.optimizer.weight_decay_schedule = {.growth = WeightDecayGrowth::kLinear, .start = 0, .end = 0.5};
  const Told grows = run_.train(options_);
  options_.save_dir = folder_ / "none";
  options_.optimizer.weight_decay = 0;
  options_.optimizer.weight_decay_schedule.reset();
  const Told none = run_.train(options_);
  EXPECT_EQ(grows.losses()[1], none.losses()[1]);
  EXPECT_NE(grows.losses()[2], none.losses()[2]);
}

// The step goes on, Adam's count of updates and the learning rate begin anew.
TEST_F(RampUp, ARunMayGoOnWithAFreshOptimizer) {
  options_.batches.reset();
  options_.optimizer.learning_rate = {.peak = 8e-3, .warmup = 4, .late_warmup = true};
  options_.save_dir = folder_ / "run";
  options_.save_steps = 1;
  options_.resume_from = run_.train(options_, 3).result.last_checkpoint;
  options_.resume_optimizer = false;
  const Told fresh = run_.train(options_, 2);
  ASSERT_EQ(fresh.steps.size(), 2u);
  EXPECT_EQ(fresh.steps[0].step, 4);
  EXPECT_DOUBLE_EQ(fresh.steps[0].learning_rate, 0);
  EXPECT_DOUBLE_EQ(fresh.steps[1].learning_rate, 2e-3);
  // And again, from a checkpoint of the run with the second optimizer: it knows where that one began.
  options_.resume_from = fresh.result.last_checkpoint;
  options_.resume_optimizer = true;
  const Told rest = run_.train(options_);
  EXPECT_DOUBLE_EQ(rest.steps[0].learning_rate, 4e-3);
}

TEST_F(RampUp, ARunMayGoOnWithTheScheduleOfItsCheckpoint) {
  options_.save_dir = folder_ / "run";
  options_.optimizer.learning_rate = {.decay = Decay::kCosine, .peak = 8e-3, .warmup = 4};
  options_.resume_from = run_.train(options_, 2).result.last_checkpoint;
  options_.optimizer.learning_rate = {.decay = Decay::kLinear, .peak = 1};
  options_.schedule_on_resume = ScheduleOnResume::kOfCheckpoint;
  const Told told = run_.train(options_);
  EXPECT_THAT(told.notes, IsEmpty());
  EXPECT_DOUBLE_EQ(told.steps[0].learning_rate, 6e-3);  // the third of four steps of warm-up
  options_.schedule_on_resume = ScheduleOnResume::kNew;
  EXPECT_THAT(run_.train(options_).notes, IsEmpty());
}

}  // namespace
}  // namespace nadi::inline runs
