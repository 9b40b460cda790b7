// Checkpoints that Megatron-LM itself wrote, against the Hugging Face folders that they were made of.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/checkpoint_inspection/tensor_comparison.h"
#include "nadi/testing/source_folder.h"

namespace nadi {
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
                                  [](const WholeTensor& tensor) { return is_optimizer_state(tensor.name); }));
  EXPECT_TRUE(compare_tensors(*stored, *stored, {.block_bytes = 1000}).equal());
}

}  // namespace
}  // namespace nadi
