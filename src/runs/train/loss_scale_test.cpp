// fp16: a step whose gradients overflow changes nothing but the loss scale, and training goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/train/small_run_for_tests.h"

namespace nadi::inline runs {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

class LossScaleTest : public FolderTest {
 protected:
  LossScaleTest() {
    options_ = run_.options();
    options_.dtype = DType::kF16;
    options_.evaluate = false;
    options_.epochs = 8;
    options_.optimizer.learning_rate.warmup = 20;
    options_.save_steps = 1;
    options_.save_dir = folder_ / "run";
    options_.resume_from = run_.train(options_, 1).result.last_checkpoint;
    options_.verify = Verify::kNo;  // the tests change what was saved
  }

  // Writes a number over the loss scale that the checkpoint holds, or over the first element of a tensor.
  template <typename T>
  static void overwrite(const fs::path& file, const std::string& name, T value) {
    std::string bytes = read_text(file);
    const SafetensorsReader reader(file);
    const SafetensorsTensor& tensor = reader.at(name);
    // Behind 8 bytes with the header's length and the header.
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(bytes.data() + sizeof header + header + tensor.begin, &value, sizeof value);
    write_text(file, bytes);
  }

  const SmallRun run_;
  TrainOptions options_;
};

TEST_F(LossScaleTest, AnOverflowSkipsTheStepAndHalvesTheScale) {
  constexpr float kTooLarge = 1 << 28;
  overwrite(options_.resume_from / kTrainingTensorsFile, "loss_scale", kTooLarge);
  const Told told = run_.train(options_);
  EXPECT_EQ(told.result.steps, 32);
  ASSERT_EQ(told.steps.size(), 31u);
  EXPECT_TRUE(told.steps[0].skipped);

  std::int64_t skipped = 0;
  double scale = kTooLarge;
  for (const StepReport& step : told.steps) {
    const fs::path before = options_.save_dir / checkpoint_name(step.step - 1);
    const fs::path after = options_.save_dir / checkpoint_name(step.step);
    if (step.skipped) {
      ++skipped;
      scale /= 2;
    }
    EXPECT_EQ(step.loss_scale, scale) << step.step;
    EXPECT_EQ(step.skipped_steps, skipped);
    EXPECT_EQ(read_text(before / "model.safetensors") == read_text(after / "model.safetensors"),
              step.skipped);
    // The warm-up counts updates: this is number step - skipped, itself included if it was one.
    const std::int64_t update = step.step - skipped + (step.skipped ? 1 : 0);
    if (update <= 20) {
      EXPECT_DOUBLE_EQ(step.learning_rate, 3e-3 * static_cast<double>(update) / 20);
    }
  }
  EXPECT_GT(skipped, 1);
  EXPECT_LT(skipped, 20);
  EXPECT_FALSE(told.steps.back().skipped);
  EXPECT_EQ(told.result.skipped_steps, skipped);
  EXPECT_EQ(read_training_state(told.result.last_checkpoint).counters.at("skipped_steps"), skipped);
  EXPECT_LT(told.steps.back().loss, told.steps.front().loss);
}

// A device beside the host has begun the next step by the time that an overflow is noticed. A run that saves
// each step waits for it.
TEST_F(LossScaleTest, WhatIsToldDoesNotDependOnWhenTheHostLooks) {
  constexpr float kTooLarge = 1 << 28;
  overwrite(options_.resume_from / kTrainingTensorsFile, "loss_scale", kTooLarge);
  const Told waiting = run_.train(options_);
  options_.save_steps = 0;
  const Told ahead = run_.train(options_);
  ASSERT_EQ(ahead.steps.size(), waiting.steps.size());
  for (std::size_t i = 0; i < ahead.steps.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(ahead.steps[i].skipped, waiting.steps[i].skipped);
    EXPECT_EQ(ahead.steps[i].skipped_steps, waiting.steps[i].skipped_steps);
    EXPECT_EQ(ahead.steps[i].loss_scale, waiting.steps[i].loss_scale);
    EXPECT_EQ(ahead.steps[i].learning_rate, waiting.steps[i].learning_rate);
    EXPECT_EQ(ahead.steps[i].next_learning_rate, waiting.steps[i].next_learning_rate);
  }
}

// Not even a scale of 1 helps weights that are not numbers.
TEST_F(LossScaleTest, AScaleThatCannotGoDownAnyMoreIsDivergence) {
  constexpr std::uint16_t kNaN = 0x7e00;
  overwrite(options_.resume_from / "model.safetensors", "transformer.ln_f.weight", kNaN);
  overwrite(options_.resume_from / kTrainingTensorsFile, "loss_scale", 4.0F);
  options_.save_steps = 100;  // such weights would not be saved
  const auto error = error_of([&] { run_.train(options_); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInfeasible);
  // After step 1, steps 2 and 3 halve it to 1, and step 4 has nowhere to go.
  EXPECT_THAT(error->message(), HasSubstr("training diverged in step 4: loss nan"));
  EXPECT_EQ(find_checkpoints(options_.save_dir).checkpoints.back().step, 1);
}

TEST_F(LossScaleTest, OtherTypesHaveNone) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    TrainOptions options = run_.options();
    options.dtype = dtype;
    options.max_steps = 1;
    EXPECT_FALSE(run_.train(options).steps.at(0).loss_scale);
  }
}

}  // namespace
}  // namespace nadi::inline runs
