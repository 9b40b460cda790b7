#include "nadi/checkpoint/pretrained_source.h"

#include <gmock/gmock.h>

#include <numeric>

#include "nadi/base/atomic_file.h"
#include "nadi/base/atomic_folder.h"
#include "nadi/base/error.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/safetensors_writer.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/model/config_writer.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;

// A folder whose elements count from 0 in every tensor.
class PretrainedSourceTest : public FolderTest {
 protected:
  const ModelConfig config_ = tiny_model(architecture_named("llama"), 2);

  static std::vector<float> counting(const Shape& shape, float first = 0) {
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    std::iota(values.begin(), values.end(), first);
    return values;
  }

  void write_model(AtomicFolder& folder, const std::vector<WantedTensor>& more = {}) {
    std::vector<WantedTensor> all = whole_parameters(config_);
    all.insert(all.end(), more.begin(), more.end());
    folder.write("config.json", config_json(config_));
    folder.write("model.safetensors", [&](AtomicFile& file) { write_safetensors(file, tensors(all)); });
  }

  std::vector<TensorToWrite> tensors(const std::vector<WantedTensor>& wanted, float first = 0) {
    std::vector<TensorToWrite> list;
    for (const WantedTensor& tensor : wanted) {
      memory_.push_back(counting(tensor.shape, first));
      list.push_back(
          {.name = tensor.name, .shape = tensor.shape, .bytes = std::as_bytes(std::span(memory_.back()))});
    }
    return list;
  }

  std::vector<std::vector<float>> memory_;
};

TEST_F(PretrainedSourceTest, ReadsBlocksOfMappedTensors) {
  AtomicFolder folder(folder_ / "model");
  write_model(folder, {{"rotary.inv_freq", Shape{4}}});
  folder.commit();
  const auto model = open_pretrained(folder_ / "model");
  EXPECT_EQ(model->kind(), "Hugging Face folder");
  EXPECT_FALSE(model->progress());
  EXPECT_EQ(model->tensors().front().name, "model.embed_tokens.weight");
  EXPECT_EQ(model->tensors().back().name, "rotary.inv_freq");
  const WholeTensor& words = model->at("model.embed_tokens.weight");  // [13, 8]
  EXPECT_EQ(words.place, "model.safetensors");
  std::vector<float> block(6);
  model->read(words, {.row = 2, .rows = 2, .column = 1, .columns = 3},
              std::as_writable_bytes(std::span(block)));
  EXPECT_THAT(block, testing::ElementsAre(17, 18, 19, 25, 26, 27));
  EXPECT_TRUE(model->view(words, {.row = 3, .rows = 2, .columns = 8}));
  const auto error = error_of([&] { model->at("model.embed_token.weight"); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->hint(), HasSubstr("model.embed_tokens.weight"));
}

TEST_F(PretrainedSourceTest, HasTheTrainingOfOurCheckpoints) {
  AtomicFolder folder(folder_ / "checkpoint-6");
  write_model(folder);
  std::vector<WantedTensor> moments;
  for (const WantedTensor& parameter : whole_parameters(config_))
    for (const std::string_view suffix : {kFirstMoment, kSecondMoment})
      moments.push_back({parameter.name + std::string(suffix), parameter.shape});
  std::vector<TensorToWrite> state = tensors(moments, 100);
  const TrainingState training{
      .step = 6,
      .samples_seen = 23,  // the last step of an epoch had 3
      .seed = 7,
      .dtype = "f32",
      .batch_size = 2,
      .max_seq_length = 16,
      .optimizer = "adamw",
      .optimizer_settings = {{"beta1", 0.9}, {"beta2", 0.95}, {"epsilon", 1e-8}, {"weight_decay", 0.1}},
      .schedule = "cosine",
      .schedule_settings =
          {{"peak", 1e-3}, {"minimum", 1e-4}, {"in_samples", 1}, {"warmup", 4}, {"total", 40}},
      .counters = {{"gradient_accumulation_steps", 2},
                   {"skipped_steps", 1},
                   {"skipped_samples", 4},
                   {"scheduled_samples", 24}}};
  write_training_state(folder, training, std::move(state));
  folder.commit();

  const auto model = open_pretrained(folder_ / "checkpoint-6");
  ASSERT_TRUE(model->progress());
  const TrainingProgress& progress = *model->progress();
  EXPECT_EQ(progress.iteration, 6);
  EXPECT_EQ(progress.samples, 24);
  EXPECT_EQ(progress.own, training);
  ASSERT_TRUE(progress.adam);
  EXPECT_EQ(progress.adam->updates, 5);
  EXPECT_EQ(progress.adam->beta2, 0.95);
  EXPECT_GT(progress.adam->rate, 1e-4);
  EXPECT_EQ(progress.schedule->warmup_samples, 4);
  EXPECT_EQ(progress.schedule->decay_samples, 40);
  EXPECT_EQ(progress.schedule->samples_done, 20);
  EXPECT_EQ(progress.settings.at("global_batch_size"), 4);
  const WholeTensor& moment = model->at("model.norm.weight.m");
  std::vector<float> values(8);
  model->read(moment, moment.whole(), std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, counting({8}, 100));
}

}  // namespace
}  // namespace nadi::inline files
