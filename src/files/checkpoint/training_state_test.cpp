#include "nadi/checkpoint/training_state.h"

#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "nadi/base/atomic_folder.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/safetensors_reader.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;

TrainingState example() {
  return {.step = 500,
          .epoch = 2,
          .batch_in_epoch = 17,
          .samples_seen = 4000,
          .epoch_loss_sum = 0.1 + 0.2,
          .epoch_tokens = 77,
          .best_validation_loss = 3.25,
          .seed = 42,
          .dtype = "bf16",
          .batch_size = 8,
          .max_seq_length = 512,
          .optimizer = "adamw",
          .optimizer_settings = {{"beta1", 0.9}, {"beta2", 0.999}, {"weight_decay", 0.01}},
          .schedule = "cosine",
          .schedule_settings = {{"learning_rate", 3e-4}, {"warmup_steps", 100}},
          .counters = {{"skipped_steps", 3}, {"tokens", 2'048'000}}};
}

class TrainingStateTest : public FolderTest {
 protected:
  std::filesystem::path write(const TrainingState& state, std::vector<TensorToWrite> tensors = {}) {
    const std::filesystem::path path = folder_ / checkpoint_name(state.step);
    AtomicFolder folder(path, {.overwrite = Overwrite::kAllow});
    write_training_state(folder, state, std::move(tensors));
    folder.commit();
    return path;
  }

  // The error of reading what write() wrote, with `from` replaced by `to`.
  Error error_with(const std::string& from, const std::string& to) {
    const std::filesystem::path path = write(example());
    std::string text = read_text(path / kTrainingStateFile);
    const std::size_t at = text.find(from);
    if (at == std::string::npos) ADD_FAILURE() << from << " is not in " << text;
    text.replace(at, from.size(), to);
    write_text(path / kTrainingStateFile, text);
    const auto error = error_of([&] { read_training_state(path); });
    EXPECT_TRUE(error);
    return error.value_or(usage_error("no error"));
  }
};

TEST_F(TrainingStateTest, ComesBack) {
  const std::array<float, 3> moment{0.1F, -2.5F, 1e-30F};
  const auto bytes = std::as_bytes(std::span(moment));
  const auto path = write(example(), {{.name = "m.wte.weight", .shape = {3}, .bytes = bytes}});
  EXPECT_EQ(read_training_state(path), example());
  std::array<float, 3> back{};
  SafetensorsReader(path / kTrainingTensorsFile)
      .read("m.wte.weight", DType::kF32, std::as_writable_bytes(std::span(back)));
  EXPECT_EQ(back, moment);
  EXPECT_EQ(find_checkpoints(folder_).checkpoints.size(), 1U);
}

TEST_F(TrainingStateTest, BeforeTheFirstValidationThereIsNoLoss) {
  TrainingState state = example();
  state.best_validation_loss.reset();
  state.counters.clear();
  EXPECT_EQ(read_training_state(write(state)), state);
}

TEST_F(TrainingStateTest, DoublesComeBackBitForBit) {
  for (const double value :
       {0.1, 1.0 / 3, 2.0, -0.0, 5e-324, 1.7976931348623157e308, 0x1.fffffffffffffp-1, 9007199254740993.0,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    TrainingState state = example();
    state.best_validation_loss = value;
    state.schedule_settings["learning_rate"] = value;
    const TrainingState back = read_training_state(write(state));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(*back.best_validation_loss), std::bit_cast<std::uint64_t>(value));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back.schedule_settings.at("learning_rate")),
              std::bit_cast<std::uint64_t>(value));
  }
  TrainingState state = example();
  state.best_validation_loss = std::nan("");
  EXPECT_TRUE(std::isnan(*read_training_state(write(state)).best_validation_loss));
}

TEST_F(TrainingStateTest, SeedsOf64BitsComeBack) {
  TrainingState state = example();
  state.seed = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(read_training_state(write(state)).seed, state.seed);
}

TEST_F(TrainingStateTest, ErrorsNameFileAndKey) {
  const Error unknown = error_with("\"epoch\"", "\"epocs\"");
  EXPECT_EQ(unknown.kind(), ErrorKind::kInput);
  EXPECT_THAT(unknown.place().file, HasSubstr("checkpoint-500/training_state.json"));
  EXPECT_TRUE(unknown.place().line);
  EXPECT_THAT(unknown.message(), HasSubstr("unknown key 'epocs'"));
  EXPECT_THAT(unknown.hint(), HasSubstr("did you mean 'epoch'?"));
  EXPECT_THAT(error_with("  \"epoch\": 2,\n", "").message(), HasSubstr("key 'epoch' is missing"));
  EXPECT_THAT(error_with("\"step\": 500", "\"step\": -1").message(),
              HasSubstr("'step' must not be negative"));
  EXPECT_THAT(error_with("\"step\": 500", "\"step\": 0.5").message(), HasSubstr("'step' must be an integer"));
  EXPECT_THAT(error_with("\"42\"", "\"4x\"").message(), HasSubstr("'seed' must be a whole number"));
  EXPECT_THAT(error_with("3.25", "\"infinite\"").message(),
              HasSubstr("'best_validation_loss' must be a number"));
  EXPECT_THAT(error_with("nadi training state", "log").message(), HasSubstr("no 'nadi training state'"));
  EXPECT_THAT(error_with("\"version\": 1", "\"version\": 2").message(), HasSubstr("newer version of Nadi"));
  EXPECT_THAT(error_with("\"version\": 1", "\"version\": 0").message(), HasSubstr("does not exist"));
}

TEST_F(TrainingStateTest, TheSameStateGivesTheSameBytes) {
  const auto path = write(example());
  const std::string once = read_text(path / kTrainingStateFile);
  write(example());
  EXPECT_EQ(read_text(path / kTrainingStateFile), once);
}

}  // namespace
}  // namespace nadi::inline files
