// The real torch_dist folder: every tensor as expected.json has it. Folders that we write are in
// torch_dist_files_test.cpp, damaged ones in torch_dist_damage_test.cpp.
#include "nadi/megatron_checkpoint/torch_dist_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/json.h"
#include "nadi/base/sha256.h"
#include "nadi/checkpoint/pretrained_source.h"
#include "nadi/megatron_checkpoint/torch_dist_source.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

TEST(RealTorchDistFolder, HasTheTensorsThatMegatronWrote) {
  const fs::path checkpoints = shared_data() / "megatron-checkpoints";
  if (!fs::exists(checkpoints)) GTEST_SKIP() << "no " << checkpoints;
  constexpr const char* kName = "llama-torchdist-tp2-pp2";
  const fs::path path = checkpoints / "ckpt" / kName / "iter_0000001";
  ASSERT_TRUE(is_torch_dist_folder(path));
  const TorchDistFolder folder(path);
  const JsonDocument expected = read_json(checkpoints / "expected.json");
  const JsonValue tensors = expected.root().at(kName);
  std::size_t seen = 0;
  for (const auto& [name, value] : tensors.items()) {
    const TorchDistEntry& entry = folder.at(name);
    EXPECT_EQ(value.at(std::size_t{0}).as_string(), "bf16");
    EXPECT_EQ(entry.dtype, FileDType::kBF16);
    std::vector<std::int64_t> shape;
    for (const JsonValue extent : value.at(1).elements()) shape.push_back(extent.as_int64());
    EXPECT_EQ(entry.data.shape(), Shape(shape)) << name;
    std::vector<std::byte> bytes(static_cast<std::size_t>(entry.data.shape().elements() * 2));
    entry.data.read(0, entry.data.shape().elements(), bytes);
    EXPECT_EQ(sha256_hex(bytes).substr(0, 16), value.at(2).as_string()) << name;
    ++seen;
  }
  EXPECT_EQ(seen, folder.entries().size());
  EXPECT_EQ(seen, 9u);
  EXPECT_EQ(folder.objects().size(), 20u);  // four extra states in each of four layers, four states of reruns
  EXPECT_EQ(folder.common().at("iteration").as_int64(), 1);
  EXPECT_EQ(folder.common().at("args").at("num_layers").as_int64(), 4);
}

TEST(RealTorchDistFolder, IsItsHuggingFaceSource) {
  const fs::path checkpoints = shared_data() / "megatron-checkpoints";
  if (!fs::exists(checkpoints)) GTEST_SKIP() << "no " << checkpoints;
  const auto source = open_pretrained(checkpoints / "hf" / "llama-tiny");
  const auto model =
      open_torch_dist_checkpoint(checkpoints / "ckpt" / "llama-torchdist-tp2-pp2" / "iter_0000001");
  ASSERT_EQ(model->tensors().size(), source->tensors().size());
  for (const WholeTensor& wanted : source->tensors()) {
    const WholeTensor& tensor = model->at(wanted.name);
    ASSERT_EQ(tensor.shape, wanted.shape) << wanted.name;
    std::vector<std::byte> ours(tensor.bytes_of(tensor.whole())), theirs(ours.size());
    model->read(tensor, tensor.whole(), ours);
    source->read(wanted, wanted.whole(), theirs);
    EXPECT_EQ(ours, theirs) << wanted.name;
  }
  EXPECT_EQ(model->progress()->iteration, 1);
  ASSERT_TRUE(model->split());
  EXPECT_EQ(model->split()->tp, 2);
  EXPECT_EQ(model->split()->pp, 2);
}

}  // namespace
}  // namespace nadi::inline files
