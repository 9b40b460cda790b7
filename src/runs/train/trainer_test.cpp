#include "nadi/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/data/batch_source.h"
#include "nadi/train/small_run_for_tests.h"

namespace nadi::inline runs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

namespace fs = std::filesystem;

// What two ways of adding up the same numbers in fp32 may differ by, relative.
constexpr double kRounding = 1e-6;

void expect_near(double value, double expected) {
  EXPECT_NEAR(value, expected, kRounding * std::abs(expected));
}

class TrainerTest : public FolderTest {
 protected:
  std::vector<std::string> names(const fs::path& folder) const {
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      found.push_back(entry.path().filename().string());
    return found;
  }

  // All parameters of a saved model, one after the other in the order of their names.
  static std::vector<float> parameters(const fs::path& checkpoint) {
    const SafetensorsReader file(checkpoint / "model.safetensors");
    std::vector<float> values;
    for (const SafetensorsTensor& tensor : file.tensors()) {
      std::vector<float> part(static_cast<std::size_t>(tensor.shape.elements()));
      file.read(tensor, DType::kF32, std::as_writable_bytes(std::span(part)));
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
  }

  static double distance(const std::vector<float>& one, const std::vector<float>& other) {
    EXPECT_EQ(one.size(), other.size());
    double squares = 0;
    for (std::size_t i = 0; i < one.size(); ++i)
      squares += (double{one[i]} - other[i]) * (double{one[i]} - other[i]);
    return std::sqrt(squares);
  }
};

// A rate of 0 keeps the weights as they are: then the loss of an epoch is that of its samples, whatever the
// batches are.
TrainOptions without_learning(TrainOptions options) {
  options.optimizer.learning_rate.peak = 0;
  options.epochs = 1;
  return options;
}

// The mean over tokens of all samples, each of which was run alone and in a sequence of its own length.
double loss_one_by_one(const SquadSet& set) {
  double sum = 0, tokens = 0;
  for (std::size_t i = 0; i < set.questions.size(); ++i) {
    SquadSet one{.paragraphs = {set.paragraphs[i]}, .questions = {set.questions[i]}};
    one.questions[0].paragraph = 0;
    // Letter, space, context, end.
    const auto length = static_cast<std::int64_t>(set.paragraphs[i].context.size()) + 3;
    const SmallRun run(architecture_named("gpt2"), one, one, length);
    TrainOptions options = without_learning(run.options());
    options.batch_size = 1;
    options.evaluate = false;
    const Told told = run.train(options);
    EXPECT_EQ(told.steps.at(0).tokens, length);
    sum +=
        told.steps[0].loss * static_cast<double>(length - 1);  // the first has nothing to be predicted from
    tokens += static_cast<double>(length - 1);
  }
  return sum / tokens;
}

TEST_F(TrainerTest, LossIsTheMeanOverTokensWhateverTheBatches) {
  const SquadSet set = letters_for_tests(5, 1);
  const double expected = loss_one_by_one(set);
  std::int64_t tokens = 0;
  for (const SquadParagraph& paragraph : set.paragraphs)
    tokens += static_cast<std::int64_t>(paragraph.context.size()) + 3;
  struct Batches {
    std::int64_t batch_size, accumulation, seq_length, steps;
  };
  for (const Batches& batches : {Batches{1, 1, 24, 5},
                                 {2, 1, 24, 3},
                                 {4, 1, 24, 2},
                                 {8, 1, 24, 1},
                                 {2, 2, 24, 2},
                                 {1, 4, 24, 2},
                                 {4, 1, 32, 2},
                                 {4, 1, 48, 2}}) {
    SCOPED_TRACE(testing::Message() << batches.accumulation << " times " << batches.batch_size << " by "
                                    << batches.seq_length);
    const SmallRun run(architecture_named("gpt2"), set, set, batches.seq_length);
    TrainOptions options = without_learning(run.options());
    options.batch_size = batches.batch_size;
    options.accumulation = batches.accumulation;
    const Told told = run.train(options);
    EXPECT_EQ(told.result.steps, batches.steps);
    EXPECT_EQ(told.result.tokens, tokens);
    ASSERT_EQ(told.epochs.size(), 1u);
    expect_near(told.epochs[0].train_loss, expected);
    expect_near(told.epochs[0].validation_loss.value(), expected);
    expect_near(told.evaluations.at(0).loss, expected);
  }
}

TEST_F(TrainerTest, AModelThatKnowsNothingHasTheLossOfAGuess) {
  for (const Architecture& architecture : {architecture_named("gpt2"), architecture_named("bert")}) {
    const SmallRun run(architecture);
    TrainOptions options = without_learning(run.options());
    options.config.initializer_range = 0;  // all tokens are equally likely
    const Told told = run.train(options);
    for (const StepReport& step : told.steps)
      expect_near(step.loss, std::log(static_cast<double>(options.config.vocabulary)));
  }
}

// Dropout is numbered by the sample's row in the whole batch, so that it is the same, too.
TEST_F(TrainerTest, AccumulatedBatchesAreOneLargeBatch) {
  for (const Architecture& architecture : {architecture_named("gpt2"), architecture_named("bert")})
    for (const double dropout : {0.0, 0.1}) {
      const SmallRun run(architecture, {.samples = 11});
      TrainOptions options = run.options();
      options.config.embedding_dropout = options.config.attention_dropout = options.config.residual_dropout =
          dropout;
      options.optimizer.kind = OptimizerKind::kSgd;
      options.optimizer.learning_rate.peak = 0.1;
      options.batch_size = 4;
      const Told large = run.train(options);
      options.batch_size = 2;
      options.accumulation = 2;
      const Told small = run.train(options);
      ASSERT_EQ(large.steps.size(), 6u);
      ASSERT_EQ(small.steps.size(), 6u);
      for (std::size_t i = 0; i < large.steps.size(); ++i) {
        expect_near(small.steps[i].loss, large.steps[i].loss);
        const double norm = large.steps[i].grad_norm.value();
        EXPECT_NEAR(small.steps[i].grad_norm.value(), norm, 1e-5 * norm);
        EXPECT_EQ(small.steps[i].tokens, large.steps[i].tokens);
      }
      EXPECT_LT(large.steps.back().loss, large.steps.front().loss);
    }
}

// Plain SGD moves the weights by rate * gradient, clipped to rate * max_grad_norm.
TEST_F(TrainerTest, LargeGradientsAreClipped) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.optimizer = {.kind = OptimizerKind::kSgd, .momentum = 0, .weight_decay = 0};
  options.evaluate = false;
  options.max_steps = 1;
  options.optimizer.learning_rate.peak = 0;
  options.save_dir = folder_ / "start";
  options.init_from = run.train(options).result.last_checkpoint;
  const std::vector<float> start = parameters(options.init_from);
  options.optimizer.learning_rate.peak = 0.5;
  const auto moved = [&](double max_grad_norm, const char* name) {
    options.optimizer.max_grad_norm = max_grad_norm;
    options.save_dir = folder_ / name;
    const Told told = run.train(options);
    return std::pair{distance(parameters(told.result.last_checkpoint), start), told.steps[0].grad_norm};
  };
  const auto [clipped, norm] = moved(0.25, "clipped");
  EXPECT_NEAR(clipped, 0.5 * 0.25, 1e-5);
  EXPECT_GT(norm.value(), 0.25);  // reported as it was before
  const auto [below, same_norm] = moved(1000, "below");
  EXPECT_EQ(same_norm, norm);
  EXPECT_NEAR(below, 0.5 * *norm, 1e-5 * *norm);
  const auto [unclipped, no_norm] = moved(0, "free");
  EXPECT_EQ(no_norm, std::nullopt);  // nobody asked for it
  EXPECT_NEAR(unclipped, below, 1e-6 * *norm);
}

TEST_F(TrainerTest, LearningRateFollowsItsSchedule) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.optimizer.learning_rate = {.decay = Decay::kLinear, .peak = 0.004, .warmup = 2};
  options.max_steps = 6;
  std::vector<double> rates;
  const Told told = run.train(options);
  EXPECT_EQ(told.total_steps, 6);
  for (const StepReport& step : told.steps) rates.push_back(step.learning_rate);
  // Up in 2 steps, then down in 4: 4/4, 3/4, 2/4, 1/4 of the peak.
  EXPECT_THAT(rates, testing::Pointwise(testing::DoubleEq(), {0.002, 0.004, 0.004, 0.003, 0.002, 0.001}));
}

// Few samples are soon known by heart, and others get worse by it.
TEST_F(TrainerTest, TheBestModelIsTheOneWithTheLowestValidationLoss) {
  const SmallRun run(architecture_named("gpt2"), {.samples = 2});
  TrainOptions options = run.options();
  options.optimizer.learning_rate = {.decay = Decay::kConstant, .peak = 0.02};
  options.max_steps = 30;
  options.eval_steps = 1;
  options.save_dir = folder_ / "run";
  const Told told = run.train(options);
  ASSERT_EQ(told.evaluations.size(), 30u);
  double lowest = HUGE_VAL;
  for (const EvaluationReport& evaluation : told.evaluations) {
    EXPECT_EQ(evaluation.best, evaluation.loss < lowest) << evaluation.step;
    lowest = std::min(lowest, evaluation.loss);
  }
  ASSERT_FALSE(told.evaluations.back().best);
  EXPECT_EQ(told.result.best_validation_loss, lowest);

  TrainOptions again = without_learning(run.options());
  again.init_from = told.result.best_model;
  EXPECT_EQ(again.init_from, folder_ / "run" / "best_model");
  again.max_steps = 1;
  EXPECT_EQ(run.train(again).evaluations.at(0).loss, lowest);
  EXPECT_THAT(names(again.init_from),
              UnorderedElementsAre("config.json", "model.safetensors", "nadi_checksums.json"));
}

TEST_F(TrainerTest, EpochsEndWithAnEvaluationAndACheckpoint) {
  const SmallRun run;  // 7 samples in batches of 2: 4 steps
  TrainOptions options = run.options();
  options.epochs = 3;
  options.max_steps = 10;
  options.save_dir = folder_ / "run";
  const Told told = run.train(options);
  std::vector<std::int64_t> steps, epochs;
  for (const EvaluationReport& evaluation : told.evaluations) steps.push_back(evaluation.step);
  for (const EpochReport& epoch : told.epochs) epochs.push_back(epoch.epoch);
  EXPECT_THAT(steps, ElementsAre(4, 8, 10));  // also the end within an epoch
  EXPECT_THAT(epochs, ElementsAre(1, 2, 3));
  EXPECT_THAT(names(options.save_dir),
              UnorderedElementsAre("checkpoint-4", "checkpoint-8", "checkpoint-10", "best_model"));
  EXPECT_THAT(names(options.save_dir / "checkpoint-4"),
              UnorderedElementsAre("config.json", "model.safetensors", "nadi_checksums.json",
                                   "training_state.json", "training_state.safetensors"));
  // The mean of the epoch's steps, weighted by what they predict: all tokens but one per sample.
  double sum = 0, predicted = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto count = static_cast<double>(told.steps[i].tokens - (i < 3 ? 2 : 1));
    sum += told.steps[i].loss * count;
    predicted += count;
    EXPECT_EQ(told.steps[i].epoch, 1);
  }
  EXPECT_NEAR(told.epochs[0].train_loss, sum / predicted, 1e-12);
  const TrainingState state = read_training_state(options.save_dir / "checkpoint-10");
  EXPECT_EQ(state.step, 10);
  EXPECT_EQ(state.epoch, 2);
  EXPECT_EQ(state.batch_in_epoch, 2);
  EXPECT_EQ(state.samples_seen, 7 + 7 + 4);
  EXPECT_EQ(state.best_validation_loss, told.result.best_validation_loss);
}

TEST_F(TrainerTest, KeepsTheNewestCheckpoints) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.save_steps = 1;
  options.save_total_limit = 2;
  options.max_steps = 5;
  options.save_dir = folder_ / "run";
  const Told told = run.train(options);
  EXPECT_EQ(told.saves.size(), 5u + 2u);  // best_model after the epoch and at the end
  EXPECT_THAT(names(options.save_dir), UnorderedElementsAre("checkpoint-4", "checkpoint-5", "best_model"));
  EXPECT_EQ(find_checkpoints(options.save_dir).checkpoints.back().step, 5);
}

// Else a later --resume would find the other run's checkpoint-8 to be the newest.
TEST_F(TrainerTest, CheckpointsOfAnotherRunGoWithTheFirstOfThisOne) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.evaluate = false;
  options.save_dir = folder_ / "run";
  run.train(options);
  EXPECT_THAT(names(options.save_dir), UnorderedElementsAre("checkpoint-4", "checkpoint-8"));
  options.seed = 6;
  options.replace_checkpoints = true;
  run.train(options, 3);
  EXPECT_THAT(names(options.save_dir), ElementsAre("checkpoint-3"));
  run.train(options);
  EXPECT_THAT(names(options.save_dir), UnorderedElementsAre("checkpoint-4", "checkpoint-8"));
  EXPECT_EQ(read_training_state(options.save_dir / "checkpoint-8").seed, 6u);
}

TEST_F(TrainerTest, AFolderThatCannotBeWrittenToIsNoticedBeforeAnyWork) {
  write_text(folder_ / "file", "");
  const SmallRun run;
  TrainOptions options = run.options();
  options.save_dir = folder_ / "file" / "run";
  Told told;
  const auto error = error_of([&] {
    SampleBatches batches(run.train_samples(), run.tokenizer(),
                          {.batch_size = options.batch_size, .seed = options.seed});
    SingleProcess world;
    train(options, {batches, nullptr, &run.tokenizer()}, world, told, [] { return false; });
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->what(), HasSubstr(options.save_dir.string() + ": cannot write to the folder: "));
  EXPECT_THAT(told.steps, IsEmpty());
}

TEST_F(TrainerTest, AModelThatNoFileCanDescribeIsNoticedBeforeAnyWork) {
  const SmallRun run(architecture_named("bert"));
  TrainOptions options = run.options();
  options.config.residual_dropout = 0.5;  // the file has one key for this and the embeddings'
  options.save_dir = folder_ / "run";
  const auto error = error_of([&] { run.train(options); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("different dropout"));
  EXPECT_THAT(names(options.save_dir), IsEmpty());
  options.save_dir.clear();
  EXPECT_FALSE(run.train(options).result.stopped);
}

TEST_F(TrainerTest, WhatAKilledRunLeftIsRemoved) {
  // No process has this number: the largest is 2^22.
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const fs::path left = folder_ / "run" / (std::string(".nadi.checkpoint-3.99999999@") + host + ".tmp");
  write_text(left / "config.json", "{");
  const SmallRun run;
  TrainOptions options = run.options();
  options.max_steps = 1;
  options.evaluate = false;
  options.save_dir = folder_ / "run";
  const Told told = run.train(options);
  EXPECT_THAT(told.notes,
              ElementsAre(HasSubstr("removed a file or folder that an earlier run left unfinished in ")));
  EXPECT_THAT(names(options.save_dir), ElementsAre("checkpoint-1"));
}

TEST_F(TrainerTest, StopsWhenAskedAndSaves) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.save_dir = folder_ / "run";
  const Told told = run.train(options, 3);
  EXPECT_EQ(told.steps.size(), 3u);
  EXPECT_TRUE(told.result.stopped);
  EXPECT_EQ(told.result.steps, 3);
  EXPECT_EQ(told.result.last_checkpoint, options.save_dir / "checkpoint-3");
  EXPECT_EQ(read_training_state(told.result.last_checkpoint).step, 3);
  // A request that comes with the last step finds nothing to stop.
  options.save_dir = folder_ / "other";
  EXPECT_FALSE(run.train(options, 8).result.stopped);
}

// Samples of ones, of which those from a number on cannot be read.
class DamagedBatches : public BatchSource {
 public:
  explicit DamagedBatches(std::int64_t readable)
      : BatchSource({.samples = 20, .seq_length = 24, .batch_size = 2}), readable_(readable) {}
  std::int64_t tokens() const override { return 20 * 24; }

 protected:
  std::int64_t sample_at(std::int64_t, std::int64_t place) override { return place; }
  std::int64_t fill_row(std::int64_t, std::int64_t sample, const BatchRow& row) override {
    if (sample >= readable_) throw input_error({.file = "samples.bin"}, "damaged");
    std::ranges::fill(row.input_ids, 1);
    std::ranges::fill(row.targets, 1);
    row.length = 24;
    return 24;
  }

 private:
  std::int64_t readable_;
};

// The samples of a step are read while the step before runs: that one is still told and saved.
TEST_F(TrainerTest, DamagedDataLosesNoStepBeforeIt) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.save_dir = folder_ / "run";
  options.save_steps = 1;
  options.evaluate = false;
  DamagedBatches batches(6);  // three steps
  SingleProcess world;
  Told told;
  const auto error = error_of([&] {
    train(options, {batches, nullptr, &run.tokenizer()}, world, told, [] { return false; });
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->place().file, "samples.bin");
  EXPECT_EQ(told.steps.size(), 3u);
  EXPECT_EQ(told.saves.back().filename(), "checkpoint-3");
}

TEST_F(TrainerTest, DivergenceIsSaidAndLeavesTheLastCheckpoint) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.optimizer = {.kind = OptimizerKind::kSgd, .max_grad_norm = 0};
  options.optimizer.learning_rate = {.decay = Decay::kConstant, .peak = 1e30};
  options.evaluate = false;
  options.save_steps = 1;
  options.save_dir = folder_ / "run";
  const auto error = error_of([&] { run.train(options); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInfeasible);
  EXPECT_THAT(error->message(), HasSubstr("training diverged in step 2: loss "));
  EXPECT_THAT(names(options.save_dir), ElementsAre("checkpoint-1"));
  EXPECT_EQ(read_training_state(options.save_dir / "checkpoint-1").step, 1);
}

// The last update may spoil the weights, and no step comes after it to notice.
TEST_F(TrainerTest, AValidationLossThatIsNoNumberIsDivergence) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.optimizer = {.kind = OptimizerKind::kSgd, .max_grad_norm = 0};
  options.optimizer.learning_rate.peak = 1e30;
  options.max_steps = 1;
  options.save_dir = folder_ / "run";
  const auto error = error_of([&] { run.train(options); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInfeasible);
  EXPECT_THAT(error->message(), HasSubstr("training diverged in step 1: validation loss "));
  EXPECT_THAT(names(options.save_dir), IsEmpty());
}

TEST_F(TrainerTest, WeightsThatAnUpdateSpoiltAreNotSaved) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.optimizer = {.kind = OptimizerKind::kSgd, .max_grad_norm = 0};
  options.optimizer.learning_rate.peak = 1e300;  // infinite in fp32
  options.evaluate = false;
  options.max_steps = 1;
  options.save_dir = folder_ / "run";
  const auto error = error_of([&] { run.train(options); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInfeasible);
  EXPECT_THAT(error->message(), HasSubstr("has elements that are not finite"));
  EXPECT_THAT(names(options.save_dir), IsEmpty());
}

TEST_F(TrainerTest, NothingIsSavedWithoutAFolder) {
  const SmallRun run;
  TrainOptions options = run.options();
  options.save_steps = 1;
  const Told told = run.train(options);
  EXPECT_THAT(told.saves, IsEmpty());
  EXPECT_EQ(told.result.last_checkpoint, "");
  EXPECT_EQ(told.result.best_model, "");
  EXPECT_TRUE(told.result.best_validation_loss);
}

TEST_F(TrainerTest, SameSeedSameLossesOtherSeedOthers) {
  const SmallRun run;
  TrainOptions options = run.options();
  const std::vector<double> first = run.train(options).losses();
  EXPECT_EQ(run.train(options).losses(), first);
  options.seed = 6;
  EXPECT_NE(run.train(options).losses(), first);
}

}  // namespace
}  // namespace nadi::inline runs
