// Whole runs of training on a GPU: against the CPU engine, against themselves, and continued on the other
// device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nadi/base/temporary_folder.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/model/catalogue.h"
#include "nadi/testing/text_files.h"
#include "nadi/train/small_run_for_tests.h"

namespace nadi::inline runs {
namespace {

namespace fs = std::filesystem;

struct TinyModel {
  std::string name;
  Architecture architecture;
};
const TinyModel kTinyModels[]{{"gpt2-tiny", architecture_named("gpt2")},
                              {"bert-tiny", architecture_named("bert")},
                              {"llama-tiny", architecture_named("llama")},
                              {"mistral-tiny", architecture_named("mistral")},
                              {"qwen2-tiny", architecture_named("qwen2")}};

TrainOptions options_of(const SmallRun& run, const TinyModel& model) {
  TrainOptions options = run.options();
  options.config = *find_built_in_model(model.name);
  options.optimizer.learning_rate.peak = 5e-5;  // Adam makes steps of that size of what is mere rounding
  options.max_steps = 20;
  options.evaluate = false;
  options.device = DeviceKind::kCuda;
  return options;
}

void expect_near(const std::vector<double>& losses, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(losses.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(losses[i], expected[i], tolerance * expected[i]) << "step " << i + 1;
}

class CudaRun : public testing::TestWithParam<TinyModel> {
 protected:
  const SmallRun run_{GetParam().architecture, {.samples = 80, .seq_length = 24}};
  TrainOptions options_ = options_of(run_, GetParam());
};

// With dropout where the model has it: random numbers are counted, so both drop the same elements.
TEST_P(CudaRun, HasTheLossesOfTheCpu) {
  const std::vector<double> losses = run_.train(options_).losses();
  options_.device = DeviceKind::kCpu;
  const std::vector<double> expected = run_.train(options_).losses();
  ASSERT_EQ(expected.size(), 20u);
  expect_near(losses, expected, 1e-5);
}

TEST_P(CudaRun, HasTheLossesOfTheCpuInEveryWayOfComputingAStep) {
  options_.max_steps = 6;
  options_.accumulation = 2;
  options_.recompute = {.granularity = Recompute::Granularity::kFull};
  const std::vector<double> losses = run_.train(options_).losses();
  options_.fused_attention = false;
  options_.recompute = {};
  const std::vector<double> unfused = run_.train(options_).losses();
  options_.device = DeviceKind::kCpu;
  const std::vector<double> expected = run_.train(options_).losses();
  ASSERT_EQ(expected.size(), 6u);
  expect_near(losses, expected, 1e-5);
  expect_near(unfused, expected, 1e-5);
}

// bf16 has 8 bits: a loss of 6 is known to about 0.02.
TEST_P(CudaRun, LearnsInHalfPrecision) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(to_string(dtype));
    options_.dtype = dtype;
    options_.device = DeviceKind::kCuda;
    const std::vector<double> losses = run_.train(options_).losses();
    options_.device = DeviceKind::kCpu;
    const std::vector<double> expected = run_.train(options_).losses();
    expect_near(losses, expected, 5e-3);
  }
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

TEST_P(CudaRun, GivesTheSameBitsAgain) {
  const TemporaryFolder folder;
  options_.max_steps = 6;
  options_.math.deterministic = true;
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    SCOPED_TRACE(to_string(dtype));
    options_.dtype = dtype;
    std::vector<std::vector<double>> losses;
    for (const char* name : {"one", "other"}) {
      options_.save_dir = folder / (std::string(to_string(dtype)) + name);
      losses.push_back(run_.train(options_).losses());
    }
    EXPECT_EQ(losses[0], losses[1]);
    const std::string type(to_string(dtype));
    expect_same_files(folder / (type + "one") / checkpoint_name(6),
                      folder / (type + "other") / checkpoint_name(6));
  }
}

TEST_P(CudaRun, ContinuesOnTheOtherDevice) {
  const TemporaryFolder folder;
  options_.max_steps = 8;
  options_.device = DeviceKind::kCpu;
  const std::vector<double> expected = run_.train(options_).losses();
  ASSERT_EQ(expected.size(), 8u);
  for (const DeviceKind first : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    SCOPED_TRACE(to_string(first));
    options_.save_dir = folder / std::string(to_string(first));
    options_.resume_from.clear();
    options_.device = first;
    const Told before = run_.train(options_, 3);
    ASSERT_TRUE(before.result.stopped);
    options_.resume_from = before.result.last_checkpoint;
    options_.device = first == DeviceKind::kCpu ? DeviceKind::kCuda : DeviceKind::kCpu;
    const Told after = run_.train(options_);
    std::vector<double> losses = before.losses();
    losses.insert(losses.end(), after.steps.size(), 0.0);
    std::ranges::copy(after.losses(), losses.begin() + static_cast<std::ptrdiff_t>(before.steps.size()));
    expect_near(losses, expected, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, CudaRun, testing::ValuesIn(kTinyModels),
                         [](const auto& test) { return test.param.name.substr(0, 4); });

}  // namespace
}  // namespace nadi::inline runs
