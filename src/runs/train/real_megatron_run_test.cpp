// Training goes on from checkpoints that Megatron-LM itself wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/temporary_folder.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/engine/engine.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/run/sharded_state.h"
#include "nadi/testing/source_folder.h"
#include "nadi/train/megatron_run.h"
#include "nadi/train/small_run_for_tests.h"
#include "nadi/train/step_requests.h"

namespace nadi::inline runs {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

// Sample s counts from s on, modulo the vocabulary of the real models.
class CountingBatches : public BatchSource {
 public:
  CountingBatches() : BatchSource({.samples = 40, .seq_length = 32, .batch_size = 4}) {}
  std::int64_t tokens() const override { return samples() * seq_length(); }

 private:
  std::int64_t sample_at(std::int64_t, std::int64_t place) override { return place; }
  std::int64_t fill_row(std::int64_t, std::int64_t sample, const BatchRow& row) override {
    for (std::size_t i = 0; i < row.input_ids.size(); ++i) {
      row.input_ids[i] = static_cast<std::int32_t>((sample + static_cast<std::int64_t>(i)) % 250);
      row.targets[i] = static_cast<std::int32_t>((sample + static_cast<std::int64_t>(i) + 1) % 250);
    }
    row.length = static_cast<std::int32_t>(row.input_ids.size());
    return row.length;
  }
};

// What is loaded are the bytes of the files.
class RealMegatronRun : public testing::TestWithParam<const char*> {};

TEST_P(RealMegatronRun, GoesOnHere) {
  const fs::path path = shared_data() / "megatron-checkpoints" / "ckpt" / GetParam();
  if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
  const auto model = open_if_megatron(path);
  ASSERT_TRUE(model);
  TrainOptions options;
  options.device = device_for_tests();
  options.threads = 1;
  options.config = model->config();
  options.config.vocabulary = 256;  // with Megatron's added rows
  options.dtype = DType::kBF16;
  options.batch_size = 2;
  options.accumulation = 2;
  options.seq_length = 32;
  options.seed = 1234;
  options.max_steps = 6;
  options.evaluate = false;
  options.optimizer.weight_decay = 0.1;
  options.optimizer.learning_rate = {.decay = Decay::kCosine,
                                     .peak = 1e-3,
                                     .minimum = 1e-4,
                                     .unit = ScheduleUnit::kSamples,
                                     .warmup = 4,
                                     .decay_end = 12,
                                     .late_warmup = true};
  options.resume_from = find_megatron_checkpoint(path)->path;

  const auto engine = make_engine(options.device, {.threads = 1});
  const StagePrograms programs(options.config, training_request(options, options.accumulation),
                               with_micro_batches(options.plan, options.accumulation));
  engine->load(programs.of(0));
  engine->bind();
  SingleProcess world;
  ShardedState state(*engine, world, programs);
  state.load_weights(*model);
  state.load_training_tensors(*model);
  engine->initialize(1);
  const TemporaryFolder folder;
  TrainingState training;
  training.dtype = "bf16";
  training.optimizer = "adamw";
  training.schedule = "cosine";
  state.save_checkpoint(folder / "loaded", nullptr, training);
  int tensors = 0;
  for (const char* name : {"model.safetensors", kTrainingTensorsFile}) {
    const SafetensorsReader file(folder / "loaded" / name);
    for (const SafetensorsTensor& tensor : file.tensors()) {
      const WholeTensor* source = model->find(tensor.name);
      if (source == nullptr) continue;  // metrics
      ASSERT_EQ(tensor.dtype, source->dtype) << tensor.name;
      std::vector<std::byte> loaded(static_cast<std::size_t>(tensor.end - tensor.begin)),
          wanted(loaded.size());
      file.read_bytes(tensor, loaded);
      TensorBlock block = source->whole();
      block.rows = tensor.shape[0];
      model->read(*source, block, wanted);
      EXPECT_EQ(loaded, wanted) << tensor.name;
      ++tensors;
    }
  }
  EXPECT_EQ(tensors,
            4 * static_cast<int>(whole_parameters(options.config).size()));  // with masters and moments

  options.save_dir = folder / "run";
  options.save_form = SaveForm::kTorch;
  CountingBatches batches;
  Told told;
  told.result = train(options, {batches}, world, told, [] { return false; });
  EXPECT_EQ(told.first_step, 3);
  EXPECT_EQ(told.result.steps, 6);
  EXPECT_THAT(told.notes, IsEmpty());
  ASSERT_EQ(told.steps.size(), 3u);
  EXPECT_EQ(told.steps[0].consumed_samples, 16);
  EXPECT_NEAR(told.steps[0].learning_rate, 1e-4, 1e-12);  // its decay had ended
  EXPECT_EQ(find_megatron_checkpoint(options.save_dir)->iteration, 6);
}

INSTANTIATE_TEST_SUITE_P(Real, RealMegatronRun, testing::Values("gpt-torch-tp1-pp1", "gpt-torch-distopt-dp2"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace nadi::inline runs
