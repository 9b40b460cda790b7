#include "nadi/checkpoint_conversion/convert_checkpoint.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "nadi/base/files_for_tests.h"
#include "nadi/checkpoint_conversion/made_up_checkpoint_for_tests.h"
#include "nadi/checkpoint_conversion/open_checkpoint.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ConvertCheckpointTest : public FolderTest {
 protected:
  void convert(ConversionRequest request, bool verify = false) {
    request.source = folder_ / request.source;
    request.target = folder_ / request.target;
    Conversion conversion(std::move(request));
    conversion.run({.threads = 2, .verify = verify});
  }

  // Every file of the first is in the second with the same bytes.
  void expect_same_files(const fs::path& a, const fs::path& b) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / a)) {
      const fs::path name = entry.path().filename();
      ASSERT_TRUE(fs::exists(folder_ / b / name)) << name;
      EXPECT_TRUE(read_text(folder_ / a / name) == read_text(folder_ / b / name)) << name;
    }
  }

  std::string message_of(ConversionRequest request) {
    const auto error = error_of([&] { convert(std::move(request)); });
    return error ? std::string(error->what()) + " | " + error->hint() : "none";
  }
};

// From Hugging Face to a split of Megatron's, from there to another, and back: the same bytes, for every
// architecture.
TEST_F(ConvertCheckpointTest, ThroughMegatronAndBack) {
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama"),
        architecture_named("mistral"), architecture_named("qwen2"), architecture_named("qwen3")}) {
    const std::string name(to_string(architecture));
    SCOPED_TRACE(name);
    write_made_up_model(folder_ / name, tiny_model(architecture, 4), FileDType::kBF16);
    convert({.source = name,
             .target = name + "-mega",
             .to = CheckpointFormat::kMegatron,
             .tp = 2,
             .pp = 2,
             .naming = MegatronNaming::kLocal},
            true);
    convert({.source = name + "-mega",
             .target = name + "-other",
             .to = CheckpointFormat::kMegatron,
             .tp = 4,
             .pp = 2,
             .virtual_stages = 2},
            true);
    convert({.source = name + "-other", .target = name + "-back", .to = CheckpointFormat::kHuggingFace},
            true);
    EXPECT_TRUE(read_text(folder_ / name / "model.safetensors") ==
                read_text(folder_ / (name + "-back") / "model.safetensors"));
  }
}

TEST_F(ConvertCheckpointTest, ThroughTorchDistAndBack) {
  write_made_up_model(folder_ / "hf", tiny_model(architecture_named("llama"), 4), FileDType::kBF16);
  convert({.source = "hf", .target = "dist", .to = CheckpointFormat::kTorchDist, .tp = 2, .pp = 2}, true);
  convert({.source = "dist", .target = "back", .to = CheckpointFormat::kHuggingFace}, true);
  EXPECT_TRUE(read_text(folder_ / "hf/model.safetensors") == read_text(folder_ / "back/model.safetensors"));
  convert({.source = "dist", .target = "mega", .to = CheckpointFormat::kMegatron, .tp = 1, .pp = 4});
  convert({.source = "mega", .target = "again", .to = CheckpointFormat::kTorchDist, .tp = 2, .pp = 2});
  expect_same_files("dist/iter_0000001", "again/iter_0000001");
}

TEST_F(ConvertCheckpointTest, FilesOfPytorch) {
  write_made_up_model(folder_ / "hf", tiny_model(architecture_named("gpt2"), 2), FileDType::kF32);
  convert({.source = "hf",
           .target = "bin",
           .to = CheckpointFormat::kHuggingFace,
           .weight_format = WeightFormat::kPytorch,
           .shard = Bytes{2000}});
  EXPECT_TRUE(fs::exists(folder_ / "bin/pytorch_model.bin.index.json"));
  convert({.source = "bin", .target = "back", .to = CheckpointFormat::kHuggingFace}, true);
  expect_same_files("hf", "back");
}

// Optimizer state from one split to another, plain and distributed, and back to ours.
TEST_F(ConvertCheckpointTest, OptimizerState) {
  write_made_up_training(folder_ / "ours", tiny_model(architecture_named("llama"), 4), FileDType::kBF16);
  convert({.source = "ours", .target = "plain", .to = CheckpointFormat::kMegatron, .tp = 2, .pp = 2}, true);
  convert({.source = "plain",
           .target = "distributed",
           .to = CheckpointFormat::kMegatron,
           .tp = 1,
           .pp = 2,
           .virtual_stages = 2,
           .distributed_optimizer = true},
          true);
  EXPECT_TRUE(fs::exists(folder_ / "distributed/iter_0000003/mp_rank_00_001/distrib_optim.pt"));
  convert({.source = "distributed", .target = "dist", .to = CheckpointFormat::kTorchDist, .tp = 4}, true);
  convert({.source = "dist",
           .target = "plain-again",
           .to = CheckpointFormat::kMegatron,
           .tp = 2,
           .pp = 2,
           .distributed_optimizer = false});
  for (const char* rank : {"mp_rank_00_000", "mp_rank_01_000", "mp_rank_00_001", "mp_rank_01_001"})
    expect_same_files(std::string("plain/iter_0000003/") + rank,
                      std::string("plain-again/iter_0000003/") + rank);
  convert({.source = "dist", .target = "back", .to = CheckpointFormat::kNadi}, true);
  EXPECT_TRUE(read_text(folder_ / "ours/model.safetensors") == read_text(folder_ / "back/model.safetensors"));
  EXPECT_TRUE(read_text(folder_ / "ours/training_state.safetensors") ==
              read_text(folder_ / "back/training_state.safetensors"));
  convert({.source = "ours", .target = "copy", .to = CheckpointFormat::kNadi}, true);
  expect_same_files("ours", "copy");
}

// 13 rows, padded to a multiple of 4 * tp: 16 with tp 2, of which rows 13 to 15 copy row 12.
TEST_F(ConvertCheckpointTest, VocabularyIsPaddedAndCut) {
  write_made_up_model(folder_ / "hf", tiny_model(architecture_named("llama"), 2), FileDType::kBF16);
  convert({.source = "hf",
           .target = "mega",
           .to = CheckpointFormat::kMegatron,
           .tp = 2,
           .vocabulary_divisible_by = 4});
  const OpenedCheckpoint opened = open_checkpoint(folder_ / "mega");
  const WholeTensor& words = opened.model->at("model.embed_tokens.weight");
  EXPECT_EQ(words.rows(), 13);
  ASSERT_EQ(words.stored_rows, 16);
  std::vector<std::byte> last(words.bytes_of({.rows = 1, .columns = 8})), added(last.size());
  opened.model->read(words, {.row = 12, .rows = 1, .columns = 8}, last);
  opened.model->read(words, {.row = 15, .rows = 1, .columns = 8}, added);
  EXPECT_EQ(last, added);
  // A tokenizer of 8 tokens: 8 rows of 13 remain.
  convert({.source = "hf",
           .target = "cut",
           .to = CheckpointFormat::kMegatron,
           .vocabulary = 8,
           .tp = 2,
           .vocabulary_divisible_by = 4});
  EXPECT_EQ(open_checkpoint(folder_ / "cut").model->at("model.embed_tokens.weight").stored_rows, 8);
  convert({.source = "cut", .target = "small", .to = CheckpointFormat::kHuggingFace, .vocabulary = 7});
  EXPECT_EQ(open_checkpoint(folder_ / "small").model->config().vocabulary, 7);
}

TEST_F(ConvertCheckpointTest, Precision) {
  write_made_up_model(folder_ / "hf", tiny_model(architecture_named("gpt2"), 2), FileDType::kF32);
  convert({.source = "hf", .target = "mega", .to = CheckpointFormat::kMegatron, .dtype = FileDType::kBF16});
  const OpenedCheckpoint opened = open_checkpoint(folder_ / "mega");
  EXPECT_EQ(opened.model->at("transformer.wte.weight").dtype, FileDType::kBF16);
  convert(
      {.source = "mega", .target = "fp32", .to = CheckpointFormat::kHuggingFace, .dtype = FileDType::kF32});
  EXPECT_EQ(open_checkpoint(folder_ / "fp32").model->at("transformer.wte.weight").dtype, FileDType::kF32);
  write_made_up_training(folder_ / "ours", tiny_model(architecture_named("gpt2"), 2), FileDType::kBF16);
  EXPECT_THAT(
      message_of(
          {.source = "ours", .target = "x", .to = CheckpointFormat::kMegatron, .dtype = FileDType::kF32}),
      HasSubstr("the weights are bf16 and belong to optimizer state; they cannot become fp32"));
  convert({.source = "ours",
           .target = "weights",
           .to = CheckpointFormat::kMegatron,
           .optimizer = false,
           .dtype = FileDType::kF32});
}

TEST_F(ConvertCheckpointTest, WhatStandsBesideTheWeightsGoesAlong) {
  write_made_up_model(folder_ / "hf", tiny_model(architecture_named("llama"), 2), FileDType::kBF16);
  write_text(folder_ / "hf/generation_config.json", "{\"temperature\": 0.6}");
  write_text(folder_ / "hf/tokenizer.json", "{}");
  convert({.source = "hf", .target = "copy", .to = CheckpointFormat::kHuggingFace});
  expect_same_files("hf", "copy");
  convert({.source = "hf", .target = "mega", .to = CheckpointFormat::kMegatron});
  convert({.source = "mega",
           .target = "back",
           .to = CheckpointFormat::kHuggingFace,
           .tokenizer = folder_ / "hf"});
  EXPECT_EQ(read_text(folder_ / "back/tokenizer.json"), "{}");
  EXPECT_EQ(open_checkpoint(folder_ / "back").model->config().rotary.theta, 100);
}

TEST_F(ConvertCheckpointTest, TheTargetIsReplacedOnlyWhenAllowed) {
  write_made_up_model(folder_ / "hf", tiny_model(architecture_named("gpt2"), 2), FileDType::kF32);
  const ConversionRequest request{.source = "hf", .target = "mega", .to = CheckpointFormat::kMegatron};
  convert(request);
  EXPECT_THAT(message_of(request), HasSubstr("the folder exists"));
  ConversionRequest again = request;
  again.overwrite = Overwrite::kAllow;
  again.tp = 2;
  convert(again);
  EXPECT_TRUE(fs::exists(folder_ / "mega/iter_0000001/mp_rank_01/model_optim_rng.pt"));
  write_text(folder_ / "mega/photos/cat.jpg", "x");
  EXPECT_THAT(message_of(again), HasSubstr("holds another folder, 'photos'"));
  again.target = "hf";
  EXPECT_THAT(message_of(again), HasSubstr("lies in the target"));
  again.target = ".";
  EXPECT_THAT(message_of(again), HasSubstr("lies in the target"));
}

TEST_F(ConvertCheckpointTest, WhatDoesNotFit) {
  write_made_up_model(folder_ / "hf", tiny_model(architecture_named("gpt2"), 3), FileDType::kF32);
  const auto to_split = [](std::int64_t tp, std::int64_t pp) {
    return ConversionRequest{
        .source = "hf", .target = "x", .to = CheckpointFormat::kMegatron, .tp = tp, .pp = pp};
  };
  EXPECT_THAT(message_of(to_split(3, 1)), HasSubstr("3"));
  EXPECT_NE(message_of(to_split(1, 4)), "none");
  EXPECT_THAT(message_of({.source = "hf", .target = "x", .to = CheckpointFormat::kNadi}),
              HasSubstr("the source has weights alone"));
  // A configuration with one more layer than there are weights.
  std::string config = read_text(folder_ / "hf/config.json");
  const std::size_t at = config.find("\"n_layer\": 3");
  ASSERT_NE(at, std::string::npos);
  config.replace(at, 12, "\"n_layer\": 4");
  write_text(folder_ / "hf/config.json", config);
  EXPECT_THAT(message_of(to_split(1, 1)), HasSubstr("is missing"));
  EXPECT_EQ(entries(folder_), 1);
}

TEST_F(ConvertCheckpointTest, DamagedSources) {
  write_made_up_model(folder_ / "hf", tiny_model(architecture_named("gpt2"), 2), FileDType::kF32);
  convert({.source = "hf", .target = "mega", .to = CheckpointFormat::kMegatron, .tp = 2, .pp = 2});
  const ConversionRequest back{.source = "mega", .target = "back", .to = CheckpointFormat::kHuggingFace};
  const fs::path rank = folder_ / "mega/iter_0000001/mp_rank_01_001";
  const std::string bytes = read_text(rank / "model_optim_rng.pt");
  write_text(rank / "model_optim_rng.pt", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(message_of(back), HasSubstr("model_optim_rng.pt"));
  fs::remove_all(rank);
  EXPECT_THAT(message_of(back), HasSubstr("mp_rank_01_001"));
  const std::string weights = read_text(folder_ / "hf/model.safetensors");
  write_text(folder_ / "hf/model.safetensors", weights.substr(0, weights.size() - 1));
  EXPECT_THAT(message_of({.source = "hf", .target = "back", .to = CheckpointFormat::kMegatron}),
              HasSubstr("model.safetensors"));
  EXPECT_FALSE(fs::exists(folder_ / "back"));
}

// A child converts until it is killed: the target is not there, or it is whole.
TEST_F(ConvertCheckpointTest, KilledAtAnyMoment) {
  ModelConfig config = tiny_model(architecture_named("llama"), 4);
  config.ffn_width = 4096;
  write_made_up_model(folder_ / "hf", config, FileDType::kBF16);
  convert({.source = "hf", .target = "whole", .to = CheckpointFormat::kMegatron, .tp = 2});
  const ConversionRequest request{
      .source = "hf", .target = "mega", .to = CheckpointFormat::kMegatron, .tp = 2};
  for (int round = 0; round < 12; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      convert(request);
      _exit(0);
    }
    usleep(static_cast<useconds_t>(round * 2500));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (fs::exists(folder_ / "mega"))
      expect_same_files("whole/iter_0000001/mp_rank_01", "mega/iter_0000001/mp_rank_01");
    fs::remove_all(folder_ / "mega");
  }
  convert(request);  // removes what the killed ones left
  EXPECT_EQ(entries(folder_), 3);
}

}  // namespace
}  // namespace nadi::inline files
