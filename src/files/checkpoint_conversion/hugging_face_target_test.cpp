#include "nadi/checkpoint_conversion/hugging_face_target.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint_conversion/file_filling.h"
#include "nadi/checkpoint_conversion/memory_model_for_tests.h"
#include "nadi/torch_file/torch_file.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Embeddings of 6 rows, of which 5 are tokens, a norm, and the first moment of the embeddings.
class HuggingFaceTargetTest : public FolderTest {
 protected:
  HuggingFaceTargetTest() {
    model_.set_config(
        {.name = "test", .architecture = architecture_named("llama"), .vocabulary = 6, .width = 2});
    model_.add("model.embed_tokens.weight", FileDType::kF32, {6, 2});
    model_.add("model.norm.weight", FileDType::kF32, {2});
    model_.add("model.embed_tokens.weight.m", FileDType::kF32, {6, 2});
  }

  std::filesystem::path written(const HuggingFaceOptions& options) {
    const auto path = folder_ / ("out" + std::to_string(count_++));
    AtomicFolder folder(path);
    fill_files(model_, hugging_face_files(model_, options), folder, {.threads = 2});
    folder.commit();
    return path;
  }

  static std::vector<float> floats(std::span<const std::byte> bytes) {
    std::vector<float> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  MemoryModel model_;
  int count_ = 0;
};

TEST_F(HuggingFaceTargetTest, OneFile) {
  const SafetensorsReader file(written({}) / "model.safetensors");
  ASSERT_EQ(file.tensors().size(), 2u);  // the optimizer's state is not written
  EXPECT_EQ(file.metadata().at("format"), "pt");
  std::vector<std::byte> bytes(48);
  file.read_bytes(file.at("model.embed_tokens.weight"), bytes);
  EXPECT_EQ(floats(bytes), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(HuggingFaceTargetTest, ShardsAndTheirIndex) {
  const auto path = written({.shard = Bytes{50}});  // 48 bytes of embeddings, 8 of the norm
  EXPECT_EQ(SafetensorsReader(path / "model-00001-of-00002.safetensors").tensors()[0].name,
            "model.embed_tokens.weight");
  EXPECT_EQ(SafetensorsReader(path / "model-00002-of-00002.safetensors").tensors()[0].name,
            "model.norm.weight");
  const std::string index = read_text(path / "model.safetensors.index.json");
  EXPECT_THAT(index, HasSubstr("\"total_size\": 56"));
  EXPECT_THAT(index, HasSubstr("\"model.norm.weight\": \"model-00002-of-00002.safetensors\""));
}

TEST_F(HuggingFaceTargetTest, FilesOfPytorch) {
  for (const std::int64_t shard : {1'000, 50}) {
    const auto path = written({.format = WeightFormat::kPytorch, .shard = Bytes{shard}});
    const TorchFile file(path / (shard == 50 ? "pytorch_model-00001-of-00002.bin" : "pytorch_model.bin"));
    file.verify_checksums();
    const TorchTensor& words = file.root().at("model.embed_tokens.weight").as_tensor();
    EXPECT_EQ(words.shape, (Shape{6, 2}));
    std::vector<std::byte> bytes(48);
    words.read(bytes);
    EXPECT_EQ(floats(bytes)[11], 11);
    EXPECT_EQ(file.root().has("model.norm.weight"), shard == 1'000);
  }
}

TEST_F(HuggingFaceTargetTest, PrecisionAndVocabulary) {
  const SafetensorsReader file(written({.dtype = FileDType::kBF16, .vocabulary = 5}) / "model.safetensors");
  const SafetensorsTensor& words = file.at("model.embed_tokens.weight");
  EXPECT_EQ(words.dtype, FileDType::kBF16);
  EXPECT_EQ(words.shape, (Shape{5, 2}));
  EXPECT_EQ(file.at("model.norm.weight").shape, (Shape{2}));
  const auto error = error_of([&] { hugging_face_files(model_, {.vocabulary = 7}); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("'model.embed_tokens.weight' has 6 rows, and a vocabulary of 7"));
}

TEST_F(HuggingFaceTargetTest, OptimizerStateIsApart) {
  const auto state = optimizer_state_to_write(model_, 5);
  ASSERT_EQ(state.size(), 1u);
  EXPECT_EQ(state[0].name, "model.embed_tokens.weight.m");
  EXPECT_EQ(state[0].shape, (Shape{5, 2}));
}

}  // namespace
}  // namespace nadi::inline files
