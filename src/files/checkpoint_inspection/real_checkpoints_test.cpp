// Checkpoints that Megatron-LM itself wrote, against the Hugging Face folders that they were made of.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/checkpoint_inspection/tensor_comparison.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

class RealCheckpoints : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder_)) GTEST_SKIP() << folder_ << " is not here";
  }
  std::unique_ptr<StoredTensors> open(const char* name) const { return open_stored_tensors(folder_ / name); }

  const fs::path folder_ = shared_data() / "megatron-checkpoints";
};

TEST_F(RealCheckpoints, HaveTheValuesOfTheirSources) {
  const struct {
    const char* source;
    const char* converted;
    std::int64_t tp, pp;
  } kPairs[]{{"hf/llama-tiny", "ckpt/llama-local-tp1-pp1", 1, 1},
             {"hf/llama-tiny", "ckpt/llama-local-tp2-pp2", 2, 2},
             {"hf/llama-tiny", "ckpt/llama-te22-tp2-pp2", 2, 2},
             {"hf/llama-tiny-tied", "ckpt/tied-local-tp2-pp2", 2, 2}};
  for (const auto& pair : kPairs) {
    SCOPED_TRACE(pair.converted);
    const auto source = open(pair.source), converted = open(pair.converted);
    ASSERT_NE(converted->split(), nullptr);
    EXPECT_EQ(converted->split()->tp, pair.tp);
    EXPECT_EQ(converted->split()->pp, pair.pp);
    const CheckpointComparison compared = compare_tensors(*source, *converted);
    EXPECT_TRUE(compared.equal()) << compared.different_tensors() << " differ, " << compared.only_a.size()
                                  << " and " << compared.only_b.size() << " are on one side only";
    EXPECT_EQ(compared.different_types(), 0);
  }
}

TEST_F(RealCheckpoints, OfATrainingHaveAnOptimizer) {
  const auto stored = open("ckpt/gpt-torch-tp1-pp1");
  ASSERT_NE(stored->progress(), nullptr);
  EXPECT_EQ(stored->progress()->iteration, 3);
  EXPECT_TRUE(std::ranges::any_of(stored->tensors(),
                                  [](const WholeTensor& tensor) { return is_training_state(tensor); }));
  EXPECT_TRUE(compare_tensors(*stored, *stored, {.block_bytes = 1000}).equal());
}

TEST(RealTorchFiles, AreShownByThemselves) {
  const fs::path folder = shared_data() / "torch-files";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".bin") continue;
    SCOPED_TRACE(entry.path());
    ++files;
    const auto stored = open_stored_tensors(entry.path());
    EXPECT_EQ(stored->kind(), "torch.save file");
    EXPECT_TRUE(compare_tensors(*stored, *stored, {.block_bytes = 64}).equal());
  }
  EXPECT_GT(files, 5);
  // The same values in three ways of writing them; one leaves the tied output layer out.
  const auto one = open_stored_tensors(folder / "gpt2-tiny" / "pytorch_model.bin");
  const auto old = open_stored_tensors(folder / "gpt2-legacy-format.bin");
  const auto plain = open_stored_tensors(folder / "gpt2-plain-dict.bin");
  EXPECT_TRUE(compare_tensors(*one, *old).equal());
  const CheckpointComparison compared = compare_tensors(*one, *plain);
  EXPECT_EQ(compared.different_tensors(), 0);
  EXPECT_THAT(compared.only_a, testing::ElementsAre("lm_head.weight"));
}

// Refused with a message, some since they hold no tensors; one is survived: an entry has a name with '..'.
TEST(RealTorchFiles, HostileOnesAreRefusedOrSurvived) {
  const fs::path folder = shared_data() / "torch-files" / "hostile";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
  int refused = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    try {
      const auto stored = open_stored_tensors(entry.path());
      EXPECT_TRUE(compare_tensors(*stored, *stored).equal());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(std::string(error.what()), testing::HasSubstr(entry.path().filename().string()));
      ++refused;
    }
  }
  EXPECT_GE(refused, 17);
}

}  // namespace
}  // namespace nadi::inline files
