#include "nadi/run/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "nadi/base/atomic_folder.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/comm/thread_world_for_tests.h"
#include "nadi/cpu/cpu_engine.h"
#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/engine/variable_values_for_tests.h"
#include "nadi/model/config_file.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/parallel/step_program.h"
#include "nadi/run/logit_program_for_tests.h"
#include "nadi/run/sharded_state.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline runs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

// An engine with a training step of the small model.
struct Loaded {
  explicit Loaded(const ModelConfig& model, DType dtype = DType::kF32)
      : config(model),
        program(build_step(model, {.seq_length = 8, .dtype = dtype})),
        engine(EngineOptions{.threads = 1}) {
    engine.load(program);
    engine.bind();
  }

  // The bytes of all variables of a role, by name.
  std::map<std::string, std::string> bytes(Role role) const {
    std::map<std::string, std::string> result;
    for (const Tensor* tensor : engine.variables()) {
      if (tensor->role != role) continue;
      const std::vector<std::byte> values = bytes_of(engine, *tensor);
      result[tensor->name] = {reinterpret_cast<const char*>(values.data()), values.size()};
    }
    return result;
  }

  void save(const fs::path& path) {
    AtomicFolder folder(path);
    write_model(folder, engine, config, ByteTokenizer::gpt2());
    folder.commit();
  }

  ModelConfig config;
  Program program;
  CpuEngine engine;
};

class WeightsTest : public FolderTest {
 protected:
  const ModelConfig config_ = byte_model(architecture_named("gpt2"));
};

TEST_F(WeightsTest, ComeBackBitForBit) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const fs::path path = folder_ / std::string(to_string(dtype));
    Loaded saved(config_, dtype);
    saved.engine.initialize(1);
    saved.save(path);
    Loaded read(config_, dtype);
    EXPECT_THAT(load_weights(read.engine, path), IsEmpty());
    read.engine.initialize(2);  // leaves them alone
    EXPECT_TRUE(read.bytes(Role::kParameter) == saved.bytes(Role::kParameter)) << to_string(dtype);
  }
}

// bf16 is the upper half of fp32, so that widening adds zeros.
TEST_F(WeightsTest, AreConvertedToTheEnginesType) {
  Loaded saved(config_, DType::kBF16);
  saved.engine.initialize(1);
  saved.save(folder_ / "bf16");
  Loaded read(config_, DType::kF32);
  load_weights(read.engine, folder_ / "bf16");
  const auto narrow = saved.bytes(Role::kParameter);
  for (const auto& [name, wide] : read.bytes(Role::kParameter)) {
    const std::string& half = narrow.at(name);
    ASSERT_EQ(wide.size(), 2 * half.size());
    for (std::size_t i = 0; i < half.size() / 2; ++i)
      ASSERT_EQ(wide.substr(4 * i, 4), std::string(2, '\0') + half.substr(2 * i, 2)) << name;
  }
  // And the fp32 copies that a bf16 run makes of fp32 weights are those weights, rounded once.
  Loaded masters(config_, DType::kBF16);
  load_weights(masters.engine, folder_ / "bf16");
  masters.engine.initialize(2);
  const auto wide = read.bytes(Role::kParameter);
  for (const auto& [name, master] : masters.bytes(Role::kOptimizerState))
    if (name.ends_with(".master")) {
      EXPECT_TRUE(master == wide.at(name.substr(0, name.size() - 7))) << name;
    }
}

// A tiny GPT-2 that PyTorch saved with torch.save, and what transformers computes with it.
TEST_F(WeightsTest, OfTorchSaveGiveTheLogitsOfTransformers) {
  const fs::path real = shared_data() / "torch-files" / "gpt2-tiny";
  if (!fs::exists(real)) GTEST_SKIP() << "the real files of torch.save are not there";
  const SafetensorsReader expected(real / "expected.safetensors");
  std::vector<std::int64_t> ids(16);
  expected.read("input_ids", DType::kI64, std::as_writable_bytes(std::span(ids)));
  const ModelConfig config = read_model_config(real / "config.json");
  const Program program = logit_program(config, 1, 16);
  CpuEngine engine({.threads = 1});
  const ProgramHandle loaded = engine.load(program);
  engine.bind();
  EXPECT_THAT(load_weights(engine, real), ElementsAre("lm_head.weight"));  // tied to the word embeddings
  engine.initialize(1);
  const std::vector<std::int32_t> tokens(ids.begin(), ids.end());
  set_if_wanted(engine, loaded, "input_ids", tokens);
  set_if_wanted(engine, loaded, "targets", tokens);
  set_if_wanted(engine, loaded, "token_count", std::vector<float>{1});
  engine.wait(engine.run(loaded, {}));
  const std::vector<float> logits = engine.read_all<float>("logits");
  std::vector<float> theirs(logits.size());
  expected.read("logits", DType::kF32, std::as_writable_bytes(std::span(theirs)));
  float difference = 0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    difference = std::max(difference, std::abs(logits[i] - theirs[i]));
  EXPECT_LT(difference, 1e-4F);  // fp32 on both sides; logits are of the order of 1
}

TEST_F(WeightsTest, ComeBackFromTorchSave) {
  Loaded saved(config_, DType::kBF16);
  saved.engine.initialize(1);
  AtomicFolder folder(folder_ / "torch");
  write_model(folder, saved.engine, config_, ByteTokenizer::gpt2(), WeightFormat::kPytorch);
  folder.commit();
  EXPECT_FALSE(fs::exists(folder_ / "torch" / "model.safetensors"));
  Loaded read(config_, DType::kBF16);
  EXPECT_THAT(load_weights(read.engine, folder_ / "torch"), IsEmpty());
  EXPECT_TRUE(read.bytes(Role::kParameter) == saved.bytes(Role::kParameter));
}

TEST_F(WeightsTest, NameTheTensorThatIsMissing) {
  Loaded saved(config_);
  saved.engine.initialize(1);
  saved.save(folder_ / "two");
  ModelConfig deeper = config_;
  deeper.layers = 3;
  Loaded read(deeper);
  const auto error = error_of([&] { load_weights(read.engine, folder_ / "two"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInput);
  EXPECT_EQ(error->place().file, (folder_ / "two" / "model.safetensors").string());
  EXPECT_EQ(error->message(), "tensor 'transformer.h.2.ln_1.weight' is missing");
}

TEST_F(WeightsTest, NameBothVocabularies) {
  Loaded saved(config_);
  saved.engine.initialize(1);
  saved.save(folder_ / "small");
  ModelConfig larger = config_;
  larger.vocabulary = 300;
  Loaded read(larger);
  const auto error = error_of([&] { load_weights(read.engine, folder_ / "small"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(
      error->message(),
      "tensor 'transformer.wte.weight': the vocabulary has 257 entries in the file and 300 in the model");
}

TEST_F(WeightsTest, ListWhatIsNotUsed) {
  ModelConfig deeper = config_;
  deeper.layers = 3;
  Loaded saved(deeper);
  saved.engine.initialize(1);
  saved.save(folder_ / "three");
  Loaded read(config_);
  const std::vector<std::string> unused = load_weights(read.engine, folder_ / "three");
  EXPECT_EQ(unused.size(), 12u);  // 2 norms and 4 linear layers, each with weight and bias
  for (const std::string& name : unused) EXPECT_THAT(name, HasSubstr("transformer.h.2."));
}

// What one rank of one writes, as a state that could be sharded.
TEST_F(WeightsTest, AreTheFilesOfAShardedState) {
  const ByteTokenizer tokenizer = ByteTokenizer::gpt2();
  Loaded saved(config_, DType::kBF16);
  saved.engine.initialize(1);
  saved.save(folder_ / "whole");
  ThreadWorld alone(1);
  const StagePrograms programs(config_, {.seq_length = 8, .dtype = DType::kBF16}, {});
  ShardedState state(saved.engine, alone.rank(0), programs);
  state.save_model(folder_ / "sharded", &tokenizer);
  EXPECT_EQ(entries(folder_ / "sharded"), entries(folder_ / "whole"));
  for (const auto& file : fs::directory_iterator(folder_ / "whole"))
    EXPECT_TRUE(read_text(file.path()) == read_text(folder_ / "sharded" / file.path().filename()))
        << file.path();
}

}  // namespace
}  // namespace nadi::inline runs
