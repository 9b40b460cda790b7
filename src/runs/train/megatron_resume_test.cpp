// A run that goes on from its checkpoint in Megatron-LM's form computes the bits of one that goes on from
// ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "nadi/base/temporary_folder.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/comm/thread_world_for_tests.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/testing/text_files.h"
#include "nadi/train/small_run_for_tests.h"

namespace nadi::inline runs {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::HasSubstr;

constexpr std::int64_t kStop = 3, kSteps = 8;

// Ranks are threads. Returns what rank 0 told.
Told run_ranks(const SmallRun& run, TrainOptions options, const Plan& plan, std::int64_t stop_after = 0) {
  options.plan = plan;
  ThreadWorld world(plan.world_size());
  Told first;
  const auto errors = world.run([&](Communicator& rank) {
    Told told;
    SampleBatches train(
        run.train_samples(), run.tokenizer(),
        {.batch_size = options.batch_size * options.accumulation * plan.dp, .seed = options.seed});
    std::int64_t asked = 0;
    told.result = nadi::train(options, {train, nullptr, &run.tokenizer()}, rank, told, [&] {
      ++asked;
      return stop_after > 0 && asked >= stop_after;
    });
    if (rank.rank() == Rank{0}) first = told;
  });
  for (const auto& error : errors) EXPECT_FALSE(error) << error->what();
  return first;
}

TrainOptions options_of(const SmallRun& run) {
  TrainOptions options = run.options();
  options.evaluate = false;
  options.max_steps = kSteps;
  options.accumulation = 2;
  options.optimizer.learning_rate.warmup = 2;
  options.optimizer.learning_rate.unit = ScheduleUnit::kSamples;
  options.optimizer.learning_rate.late_warmup = true;
  options.config.vocabulary = 258;  // divides over two ranks
  return options;
}

void expect_same_end(const fs::path& one, const fs::path& other) {
  for (const char* file : {"model.safetensors", kTrainingTensorsFile})
    EXPECT_TRUE(read_text(one / checkpoint_name(kSteps) / file) ==
                read_text(other / checkpoint_name(kSteps) / file))
        << file;
}

// Architecture, form, distributed optimizer.
using Case = std::tuple<Architecture, SaveForm, bool>;

class MegatronResume : public testing::TestWithParam<Case> {
 protected:
  const TemporaryFolder folder_;
};

TEST_P(MegatronResume, GivesTheBitsOfARunThatWasNotConverted) {
  const auto [architecture, form, distributed] = GetParam();
  const SmallRun run(architecture, {.samples = 11});
  TrainOptions options = options_of(run);
  const Plan alone{.zero_stage = distributed ? 1 : 0};
  const Plan split{.tp = 2, .pp = 2, .zero_stage = distributed ? 1 : 0};

  options.save_dir = folder_ / "whole";
  const Told whole = run_ranks(run, options, alone, kStop);
  options.resume_from = whole.result.last_checkpoint;
  run_ranks(run, options, alone);

  for (const Plan& saved_with : {alone, split}) {
    SCOPED_TRACE(saved_with.tp);
    const fs::path theirs = folder_ / ("theirs-" + std::to_string(saved_with.tp));
    options.save_dir = theirs;
    options.save_form = form;
    options.resume_from = whole.result.last_checkpoint.parent_path() / checkpoint_name(kStop);
    // One step on, so that it is this plan that computed what is saved.
    const Told first = run_ranks(run, options, saved_with, 1);
    EXPECT_EQ(first.result.last_checkpoint, theirs / iteration_folder_name(kStop + 1));
    const auto found = find_megatron_checkpoint(theirs);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->iteration, kStop + 1);
    EXPECT_EQ(found->form, form == SaveForm::kTorch ? MegatronForm::kTorch : MegatronForm::kTorchDist);

    options.save_form = SaveForm::kNadi;
    options.save_dir = folder_ / ("ours-" + std::to_string(saved_with.tp));
    const Told ours = run_ranks(run, options, saved_with, 1);
    for (const Plan& loaded_with : {alone, split}) {
      SCOPED_TRACE(loaded_with.tp);
      const auto rest = [&](const fs::path& from, const fs::path& to) {
        options.save_dir = to;
        options.resume_from = from;
        const Told told = run_ranks(run, options, loaded_with);
        EXPECT_EQ(told.first_step, kStop + 1);
        // On a GPU that the ranks share, a note says so, and nothing else does.
        EXPECT_THAT(told.notes, Each(HasSubstr("ranks share")));
        EXPECT_EQ(told.result.steps, kSteps);
      };
      const fs::path end =
          folder_ / ("end-" + std::to_string(saved_with.tp) + std::to_string(loaded_with.tp));
      rest(ours.result.last_checkpoint, end / "ours");
      rest(found->path, end / "theirs");
      expect_same_end(end / "ours", end / "theirs");
      EXPECT_EQ(read_text(end / "ours" / checkpoint_name(kSteps) / kTrainingStateFile),
                read_text(end / "theirs" / checkpoint_name(kSteps) / kTrainingStateFile));
      // Nothing but what Megatron itself would have written.
      fs::rename(found->path / kTrainingStateFile, folder_ / "aside");
      rest(found->path, end / "plain");
      expect_same_end(end / "ours", end / "plain");
      fs::rename(folder_ / "aside", found->path / kTrainingStateFile);
    }
  }
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  const auto [architecture, form, distributed] = info.param;
  return std::string(to_string(architecture)) + (form == SaveForm::kTorch ? "_torch" : "_torch_dist") +
         (distributed ? "_distributed" : "");
}

INSTANTIATE_TEST_SUITE_P(
    All, MegatronResume,
    testing::Combine(testing::Values(architecture_named("gpt2"), architecture_named("llama")),
                     testing::Values(SaveForm::kTorch, SaveForm::kTorchDist), testing::Bool()),
    name_of_case);

// bf16: masters go along, and the weights are rounded from them.
TEST(MegatronResumeInBf16, GoesOnFromTheMasters) {
  const TemporaryFolder folder;
  const SmallRun run(architecture_named("llama"), {.samples = 11});
  for (const SaveForm form : {SaveForm::kTorch, SaveForm::kTorchDist}) {
    TrainOptions options = options_of(run);
    options.dtype = DType::kBF16;
    const fs::path here = folder / std::to_string(static_cast<int>(form));
    options.save_dir = here / "ours";
    const Told ours = run_ranks(run, options, {}, kStop);
    options.save_form = form;
    options.save_dir = here / "theirs";
    const Told theirs = run_ranks(run, options, {}, kStop);
    options.save_form = SaveForm::kNadi;
    for (const auto& [from, to] : {std::pair{ours, "a"}, {theirs, "b"}}) {
      options.resume_from = from.result.last_checkpoint;
      options.save_dir = here / to;
      run_ranks(run, options, {});
    }
    expect_same_end(here / "a", here / "b");
  }
}

TEST(MegatronSaves, WithoutTheOptimizerOnlyTheWeightsGoOn) {
  const TemporaryFolder folder;
  const SmallRun run(architecture_named("gpt2"), {.samples = 11});
  for (const SaveForm form : {SaveForm::kNadi, SaveForm::kTorch, SaveForm::kTorchDist}) {
    TrainOptions options = options_of(run);
    options.save_form = form;
    options.save_optimizer = false;
    options.save_dir = folder / std::to_string(static_cast<int>(form));
    options.resume_from = run_ranks(run, options, {}, kStop).result.last_checkpoint;
    options.save_form = SaveForm::kNadi;
    SampleBatches batches(run.train_samples(), run.tokenizer(), {.batch_size = 4, .seed = options.seed});
    SingleProcess world;
    Told told;
    EXPECT_THROW(train(options, {batches, nullptr, &run.tokenizer()}, world, told, [] { return false; }),
                 Error);
    options.resume_optimizer = false;
    EXPECT_EQ(run_ranks(run, options, {}).first_step, kStop);
  }
}

TEST(MegatronSaves, KeepTheNewestAndSayWhichItIs) {
  const TemporaryFolder folder;
  const SmallRun run(architecture_named("gpt2"), {.samples = 11});
  TrainOptions options = options_of(run);
  options.save_form = SaveForm::kTorch;
  options.save_dir = folder / "run";
  options.save_steps = 2;
  options.save_total_limit = 2;
  run_ranks(run, options, {});
  EXPECT_THAT(megatron_iterations(options.save_dir), testing::ElementsAre(6, 8));
  EXPECT_EQ(read_text(options.save_dir / kIterationTracker), "8");
  for (const fs::directory_entry& entry : fs::directory_iterator(options.save_dir))
    EXPECT_THAT(entry.path().filename().string(), testing::Not(testing::StartsWith(".nadi")));
}

TEST(MegatronSaves, WhatMegatronHasNoPlaceForIsRefusedBeforeTheFirstStep) {
  const TemporaryFolder folder;
  const SmallRun run(architecture_named("gpt2"), {.samples = 11});
  TrainOptions options = options_of(run);
  options.save_form = SaveForm::kTorch;
  options.save_dir = folder / "run";
  options.optimizer.kind = OptimizerKind::kSgd;
  SampleBatches batches(run.train_samples(), run.tokenizer(), {.batch_size = 4, .seed = options.seed});
  SingleProcess world;
  Told told;
  try {
    train(options, {batches, nullptr, &run.tokenizer()}, world, told, [] { return false; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.message(), HasSubstr("with the state of adamw, and this run has sgd"));
  }
  EXPECT_TRUE(told.steps.empty());
}

}  // namespace
}  // namespace nadi::inline runs
