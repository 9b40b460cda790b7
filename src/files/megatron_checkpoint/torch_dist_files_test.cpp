// What is written reads back: chunks, optimizer plain and flattened, the training's numbers.
#include "nadi/megatron_checkpoint/torch_dist_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/temporary_folder.h"
#include "nadi/megatron_checkpoint/torch_dist_folder.h"
#include "nadi/megatron_checkpoint/torch_dist_for_tests.h"
#include "nadi/megatron_checkpoint/torch_dist_source.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline files {
namespace {

std::vector<float> numbers_of(const WholeModel& model, const WholeTensor& tensor) {
  std::vector<float> numbers(static_cast<std::size_t>(tensor.shape.elements()));
  model.read(tensor, tensor.whole(), std::as_writable_bytes(std::span(numbers)));
  return numbers;
}

void expect_model(const WholeModel& model, const ModelConfig& config, bool optimizer) {
  const ModelInMemory memory(config);
  EXPECT_EQ(model.config().layers, config.layers);
  for (const WantedTensor& wanted : whole_parameters(config)) {
    const WholeTensor& tensor = model.at(wanted.name);
    ASSERT_EQ(tensor.shape, wanted.shape) << wanted.name;
    std::vector<float> expected = memory.elements(wanted.name, tensor.whole());
    EXPECT_EQ(numbers_of(model, tensor), expected) << wanted.name;
    for (const std::string_view suffix : {kFirstMoment, kSecondMoment}) {
      const WholeTensor* state = model.find(wanted.name + std::string(suffix));
      ASSERT_EQ(state != nullptr, optimizer) << wanted.name << suffix;
      if (state == nullptr) continue;
      for (float& number : expected) number += 1;
      EXPECT_EQ(numbers_of(model, *state), expected) << state->name;
    }
  }
}

TEST(TorchDistFiles, ReadBackAsTheModel) {
  for (const Architecture& architecture : {architecture_named("gpt2"), architecture_named("llama")})
    for (const std::int64_t largest : {300, 1 << 20}) {
      const TemporaryFolder folder;
      const ModelConfig config = tiny_model(architecture, 3);
      write_torch_dist_for_tests(folder.path(), config, {}, {.files = 3, .largest_chunk = largest});
      const auto model = open_torch_dist_checkpoint(folder.path());
      expect_model(*model, config, false);
      EXPECT_EQ(model->progress()->iteration, 1);
      EXPECT_FALSE(model->progress()->adam);
    }
}

TEST(TorchDistFiles, OptimizersOfBothKindsReadBack) {
  for (const Architecture& architecture : {architecture_named("gpt2"), architecture_named("llama")})
    for (const bool distributed : {false, true}) {
      const TemporaryFolder folder;
      const ModelConfig config = tiny_model(architecture, 2);
      write_torch_dist_for_tests(folder.path(), config,
                                 {.iteration = 7, .optimizer = true, .distributed_optimizer = distributed},
                                 {.files = 2, .largest_chunk = 200});
      int flattened = 0;
      const TorchDistFolder files(folder.path());
      for (const TorchDistEntry& entry : files.entries()) flattened += entry.flattened ? 1 : 0;
      EXPECT_EQ(flattened > 0, distributed);
      const auto model = open_torch_dist_checkpoint(folder.path());
      expect_model(*model, config, true);
      ASSERT_TRUE(model->progress());
      EXPECT_EQ(model->progress()->iteration, 7);
      EXPECT_EQ(model->progress()->samples, 28);
      ASSERT_TRUE(model->progress()->adam);
      EXPECT_EQ(model->progress()->adam->updates, 7);
    }
}

TEST(TorchDistFiles, AreTheSameBytesEachTime) {
  const TemporaryFolder one, other;
  for (const TemporaryFolder* folder : {&one, &other})
    write_torch_dist_for_tests(folder->path(), tiny_model(architecture_named("llama"), 2),
                               {.optimizer = true});
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(one.path())) {
    EXPECT_EQ(read_text(entry.path()), read_text(other.path() / entry.path().filename()));
    ++files;
  }
  EXPECT_EQ(files, 6);
}

}  // namespace
}  // namespace nadi::inline files
