#include "nadi/train/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "nadi/checkpoint/atomic_folder.h"
#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/engine/cpu/cpu_engine.h"
#include "nadi/parallel/step_program.h"
#include "nadi/train/small_run_for_tests.h"

namespace nadi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

// An engine with a training step of the small model.
struct Loaded {
  explicit Loaded(const ModelConfig& model, DType dtype = DType::kF32, OptimizerOptions optimizer = {})
      : config(model),
        program(
            build_step(model, {.batch_size = 1, .seq_length = 8, .dtype = dtype, .optimizer = optimizer})),
        engine({.threads = 1}) {
    engine.load(program);
  }

  // The bytes of all variables of a role, by name.
  std::map<std::string, std::string> bytes(Role role) const {
    std::map<std::string, std::string> result;
    for (const VariableView& view : engine.variables())
      if (view.tensor->role == role)
        result[view.tensor->name] = {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()};
    return result;
  }

  void save(const fs::path& path) {
    AtomicFolder folder(path);
    write_model(folder, engine, config, ByteTokenizer::gpt2());
    write_training_state(folder, {.dtype = "f32", .optimizer = "adamw", .schedule = "linear"},
                         training_tensors(engine));
    folder.commit();
  }

  ModelConfig config;
  Program program;
  CpuEngine engine;
};

class WeightsTest : public FolderTest {
 protected:
  const ModelConfig config_ = small_model_for_tests(Architecture::kGpt2);
};

TEST_F(WeightsTest, ComeBackBitForBit) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const fs::path path = folder_ / std::string(to_string(dtype));
    Loaded saved(config_, dtype);
    saved.engine.initialize(1);
    saved.save(path);
    Loaded read(config_, dtype);
    EXPECT_THAT(load_weights(read.engine, path), IsEmpty());
    load_training_tensors(read.engine, path);
    read.engine.initialize(2);  // has nothing left to do
    for (const Role role : {Role::kParameter, Role::kOptimizerState, Role::kMetric})
      EXPECT_TRUE(read.bytes(role) == saved.bytes(role)) << to_string(dtype);
    EXPECT_GT(read.bytes(Role::kOptimizerState).size(), read.bytes(Role::kParameter).size());
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

TEST_F(WeightsTest, TrainingTensorsOfAnotherKindAreRefused) {
  Loaded saved(config_);
  saved.engine.initialize(1);
  saved.save(folder_ / "adamw");
  const std::string file = (folder_ / "adamw" / kTrainingTensorsFile).string();
  Loaded sgd(config_, DType::kF32, {.kind = OptimizerKind::kSgd});
  auto error = error_of([&] { load_training_tensors(sgd.engine, folder_ / "adamw"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kInput);
  EXPECT_THAT(error->what(), AllOf(HasSubstr(file), HasSubstr(".momentum'")));

  ModelConfig larger = config_;
  larger.vocabulary = 300;
  Loaded other(larger);
  error = error_of([&] { load_training_tensors(other.engine, folder_ / "adamw"); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), AllOf(HasSubstr("'transformer.wte.weight.m' is F32 "), HasSubstr("257"),
                                   HasSubstr(" in the file and F32 "), HasSubstr("300")));
}

}  // namespace
}  // namespace nadi
