// A run that is stopped and continued computes the same bits as one that was never stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <tuple>

#include "nadi/base/temporary_folder.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/testing/text_files.h"
#include "nadi/train/small_run_for_tests.h"

namespace nadi::inline runs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> result;
  for (const double value : values) result.push_back(std::bit_cast<std::uint64_t>(value));
  return result;
}

void expect_same_files(const fs::path& one, const fs::path& other) {
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(one)) {
    const fs::path twin = other / entry.path().filename();
    EXPECT_TRUE(read_text(entry.path()) == read_text(twin)) << entry.path() << " and " << twin;
    ++files;
  }
  EXPECT_GE(files, 2) << one;  // config.json and model.safetensors
}

// Architecture, type, optimizer, batches per step.
using Case = std::tuple<Architecture, DType, OptimizerKind, int>;

class Resume : public testing::TestWithParam<Case> {
 protected:
  const TemporaryFolder folder_;
};

TEST_P(Resume, GivesTheBitsOfARunWithoutAStop) {
  const auto [architecture, dtype, optimizer, accumulation] = GetParam();
  // 7 samples, 2 * accumulation at a time: 4 steps per epoch, or 2; the last of them is not full.
  const SmallRun run(architecture, {.samples = 7});
  TrainOptions options = run.options();
  options.config.embedding_dropout = options.config.attention_dropout = options.config.residual_dropout = 0.1;
  options.dtype = dtype;
  options.optimizer.kind = optimizer;
  options.accumulation = accumulation;
  options.optimizer.learning_rate.warmup = 2;
  options.save_dir = folder_ / "whole";
  const Told whole = run.train(options);
  const std::int64_t per_epoch = accumulation == 1 ? 4 : 2;
  ASSERT_EQ(whole.result.steps, 2 * per_epoch);
  ASSERT_EQ(whole.epochs.size(), 2u);

  // Within the first epoch, at its end, within the second.
  for (const std::int64_t stop_after : {per_epoch - 1, per_epoch, per_epoch + 1}) {
    SCOPED_TRACE("stopped after step " + std::to_string(stop_after));
    options.save_dir = folder_ / std::to_string(stop_after);
    options.resume_from.clear();
    const Told first = run.train(options, stop_after);
    EXPECT_TRUE(first.result.stopped);
    EXPECT_EQ(first.result.steps, stop_after);
    options.resume_from = first.result.last_checkpoint;
    ASSERT_EQ(options.resume_from, options.save_dir / checkpoint_name(stop_after));
    const Told rest = run.train(options);
    EXPECT_FALSE(rest.result.stopped);
    EXPECT_EQ(rest.result.steps, whole.result.steps);
    EXPECT_EQ(rest.first_step, stop_after);
    EXPECT_THAT(rest.notes, IsEmpty());

    std::vector<double> losses = first.losses();
    for (const double loss : rest.losses()) losses.push_back(loss);
    EXPECT_EQ(bits(losses), bits(whole.losses()));
    ASSERT_GE(rest.epochs.size(), 1u);
    EXPECT_EQ(rest.epochs.back().train_loss, whole.epochs.back().train_loss);
    EXPECT_EQ(rest.epochs.back().validation_loss, whole.epochs.back().validation_loss);
    EXPECT_EQ(rest.result.best_validation_loss, whole.result.best_validation_loss);

    // The checkpoints that both have: those at the ends of epochs.
    for (const std::int64_t step : {per_epoch, 2 * per_epoch})
      expect_same_files(folder_ / "whole" / checkpoint_name(step), options.save_dir / checkpoint_name(step));
    expect_same_files(folder_ / "whole" / "best_model", options.save_dir / "best_model");
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const auto [architecture, dtype, optimizer, accumulation] = info.param;
  std::string name = std::string(to_string(architecture)) + "_" + std::string(to_string(dtype)) + "_" +
                     std::string(to_string(optimizer)) + "_" + std::to_string(accumulation);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    All, Resume,
    testing::Combine(testing::Values(architecture_named("gpt2"), architecture_named("bert")),
                     testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                     testing::Values(OptimizerKind::kAdamW, OptimizerKind::kSgd, OptimizerKind::kSgdSai),
                     testing::Values(1, 2)),
    name_of);

// Weights in pytorch_model.bin: the same bits, and the same files.
TEST(ResumeFromTorchSave, GivesTheBitsOfARunWithoutAStop) {
  const TemporaryFolder folder;
  const SmallRun run(architecture_named("gpt2"), {.samples = 7});
  TrainOptions options = run.options();
  options.save_format = WeightFormat::kPytorch;
  options.save_dir = folder / "whole";
  const Told whole = run.train(options);
  options.save_dir = folder / "parts";
  const Told first = run.train(options, 3);
  EXPECT_TRUE(std::filesystem::exists(first.result.last_checkpoint / "pytorch_model.bin"));
  EXPECT_FALSE(std::filesystem::exists(first.result.last_checkpoint / "model.safetensors"));
  options.resume_from = first.result.last_checkpoint;
  const Told rest = run.train(options);
  std::vector<double> losses = first.losses();
  for (const double loss : rest.losses()) losses.push_back(loss);
  EXPECT_EQ(bits(losses), bits(whole.losses()));
  expect_same_files(folder / "whole" / checkpoint_name(8), options.save_dir / checkpoint_name(8));
  expect_same_files(folder / "whole" / "best_model", options.save_dir / "best_model");
}

class ResumeRefused : public FolderTest {
 protected:
  ResumeRefused() {
    options_ = run_.options();
    options_.save_dir = folder_ / "run";
    options_.evaluate = false;
    options_.resume_from = run_.train(options_, 1).result.last_checkpoint;
  }

  // What is said when the run is continued with a change.
  template <typename Change>
  std::string refusal(Change change) {
    TrainOptions changed = options_;
    change(changed);
    const std::optional<Error> error = error_of([&] { run_.train(changed); });
    if (!error) return "no error";
    EXPECT_EQ(error->kind(), ErrorKind::kUsage);
    return error->message();
  }

  const SmallRun run_;
  TrainOptions options_;
};

TEST_F(ResumeRefused, NamesWhatChangedWithBothValues) {
  const std::string start =
      (options_.resume_from / kTrainingStateFile).string() + ": the run was started with ";
  EXPECT_EQ(refusal([](TrainOptions& o) { o.seed = 6; }), start + "seed 5, not 6");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.dtype = DType::kBF16; }), start + "data type fp32, not bf16");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.dtype = DType::kF16; }), start + "data type fp32, not fp16");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.batch_size = 3; }),
            start +
                "steps of 2 samples (batch size 2 x 1 accumulation steps x 1 data-parallel "
                "ranks), not 3 (3 x 1 x 1)");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.optimizer.kind = OptimizerKind::kSgd; }),
            start + "optimizer adamw, not sgd");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.accumulation = 2; }),
            start +
                "steps of 2 samples (batch size 2 x 1 accumulation steps x 1 data-parallel "
                "ranks), not 4 (2 x 2 x 1)");
  const SmallRun longer(architecture_named("gpt2"), {.seq_length = 32});
  TrainOptions changed = options_;
  changed.seq_length = 32;
  const auto error = error_of([&] { longer.train(changed); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), start + "sequence length 24, not 32");
  EXPECT_EQ(entries(options_.save_dir), 1);
}

TEST_F(ResumeRefused, AnotherModelIsAnInputError) {
  TrainOptions wider = options_;
  wider.config.ffn_width = 48;
  const auto error = error_of([&] { run_.train(wider); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInput);
  EXPECT_THAT(error->what(), AllOf(HasSubstr("model.safetensors"), HasSubstr("mlp")));
}

TEST_F(ResumeRefused, APositionOutsideOfTheDataIsAnInputError) {
  const SmallRun less(architecture_named("gpt2"), {.samples = 2});
  TrainOptions options = options_;  // stopped after batch 1: 2 samples have no other
  const auto error = error_of([&] { less.train(options); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInput);
  EXPECT_THAT(error->what(), HasSubstr(kTrainingStateFile));
}

// The position exists there, too, but other samples stand at it.
TEST_F(ResumeRefused, OtherDataIsNamed) {
  const SmallRun less(architecture_named("gpt2"), {.samples = 6});
  const auto error = error_of([&] { less.train(options_); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("the run was started with training samples: 7, not 6"));
  EXPECT_EQ(entries(options_.save_dir), 1);
}

TEST_F(ResumeRefused, NewSettingsAreTakenAndSaid) {
  options_.optimizer.learning_rate.peak = 1e-4;
  const Told told = run_.train(options_, 1);
  EXPECT_THAT(told.notes, ElementsAre(HasSubstr("goes on with the new ones")));
  // 8 steps, straight down from the first: step 2 has 7/8 of the peak.
  EXPECT_NEAR(told.steps[0].learning_rate, 1e-4 * 7 / 8, 1e-12);
  EXPECT_EQ(read_training_state(told.result.last_checkpoint).schedule_settings.at("peak"), 1e-4);
}

TEST_F(ResumeRefused, AFinishedRunHasNothingLeftToDo) {
  options_.resume_from = run_.train(options_).result.last_checkpoint;
  const Told told = run_.train(options_);
  EXPECT_THAT(told.steps, IsEmpty());
  EXPECT_THAT(told.saves, IsEmpty());
  EXPECT_EQ(told.result.steps, 8);
  EXPECT_FALSE(told.result.stopped);
}

}  // namespace
}  // namespace nadi::inline runs
