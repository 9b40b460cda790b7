// Conversions against checkpoints that Megatron-LM core_v0.12.3 wrote itself, and their Hugging Face sources.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>

#include "nadi/base/files_for_tests.h"
#include "nadi/base/json.h"
#include "nadi/base/sha256.h"
#include "nadi/checkpoint_conversion/convert_checkpoint.h"
#include "nadi/checkpoint_conversion/open_checkpoint.h"
#include "nadi/checkpoint_conversion/tokenizer_size.h"
#include "nadi/megatron_checkpoint/torch_dist_folder.h"
#include "nadi/testing/source_folder.h"
#include "nadi/torch_file/torch_file.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

// A tensor's hash by its path in a file.
using Hashes = std::map<std::string, std::string>;

class RealConversion : public FolderTest {
 protected:
  void SetUp() override {
    if (!fs::exists(data_)) GTEST_SKIP() << "the checkpoints of Megatron-LM are not there";
  }

  void convert(ConversionRequest request) const {
    request.target = folder_ / request.target;
    Conversion(std::move(request)).run({.threads = 2, .verify = true});
  }

  static std::string hash(std::span<const std::byte> bytes) { return sha256_hex(bytes).substr(0, 16); }

  // A key that is a pair of types has no text in our paths.
  static std::string our_path(std::string_view path) {
    constexpr std::string_view kTypes = "(torch.bfloat16, torch.float32)";
    std::string result(path);
    if (const std::size_t at = result.find(kTypes); at != std::string::npos)
      result.replace(at, kTypes.size(), "entry 0");
    return result;
  }

  Hashes expected(const std::string& checkpoint, const std::string& file) const {
    const JsonDocument document = read_json(data_ / "expected.json");
    Hashes hashes;
    for (const auto& [path, entry] : document.root().at(checkpoint).at(file).items())
      if (!path.ends_with("_extra_state")) hashes[our_path(path)] = entry.at(2).as_string();
    return hashes;
  }

  static Hashes found(const fs::path& path) {
    const TorchFile file(path, {.unknown_classes = UnknownClasses::kKeep});
    file.verify_checksums();
    Hashes hashes;
    for (const NamedTorchTensor& named : file.tensors()) {
      if (named.path.ends_with("_extra_state")) continue;
      std::vector<std::byte> bytes(static_cast<std::size_t>(named.tensor->size()));
      named.tensor->read(bytes);
      hashes[named.path] = hash(bytes);
    }
    return hashes;
  }

  void expect_real_files(const std::string& checkpoint, const fs::path& ours) const {
    const JsonDocument document = read_json(data_ / "expected.json");
    for (const auto& [file, tensors] : document.root().at(checkpoint).items())
      EXPECT_EQ(found(ours / file), expected(checkpoint, std::string(file))) << file;
  }

  // All tensors of both, those of the optimizer too.
  static void expect_same_model(const fs::path& a, const fs::path& b) {
    const OpenedCheckpoint first = open_checkpoint(a), second = open_checkpoint(b);
    for (const WholeTensor& tensor : first.model->tensors()) {
      const WholeTensor* other = second.model->find(tensor.name);
      ASSERT_NE(other, nullptr) << tensor.name;
      ASSERT_EQ(other->dtype, tensor.dtype) << tensor.name;
      const TensorBlock all{.rows = std::min(tensor.stored_rows, other->stored_rows),
                            .columns = tensor.columns()};
      std::vector<std::byte> of_a(tensor.bytes_of(all)), of_b(of_a.size());
      first.model->read(tensor, all, of_a);
      second.model->read(*other, all, of_b);
      EXPECT_TRUE(of_a == of_b) << tensor.name;
    }
  }

  const fs::path data_ = shared_data() / "megatron-checkpoints";
};

// Its own line, with our program: every tensor of every file, byte for byte.
TEST_F(RealConversion, GivesTheTensorsOfTheRealConverter) {
  struct Case {
    const char *checkpoint, *source;
    std::int64_t parts;
    MegatronNaming naming;
  };
  for (const Case& c : {Case{"llama-local-tp1-pp1", "llama-tiny", 1, MegatronNaming::kLocal},
                        Case{"llama-local-tp2-pp2", "llama-tiny", 2, MegatronNaming::kLocal},
                        Case{"llama-te113-tp1-pp1", "llama-tiny", 1, MegatronNaming::kTransformerEngine},
                        Case{"llama-te22-tp2-pp2", "llama-tiny", 2, MegatronNaming::kTransformerEngine},
                        Case{"tied-local-tp2-pp2", "llama-tiny-tied", 2, MegatronNaming::kLocal}}) {
    SCOPED_TRACE(c.checkpoint);
    const fs::path source = data_ / "hf" / c.source;
    const fs::path tokenizer = data_ / "hf" / (std::string(c.source) + "-tokenizer");
    convert({.source = source,
             .target = c.checkpoint,
             .to = CheckpointFormat::kMegatron,
             .dtype = FileDType::kBF16,
             .vocabulary = tokenizer_size(tokenizer),
             .tokenizer = tokenizer,
             .tp = c.parts,
             .pp = c.parts,
             .naming = c.naming});
    expect_real_files(c.checkpoint, folder_ / c.checkpoint);
    // And back.
    convert({.source = folder_ / c.checkpoint,
             .target = std::string(c.checkpoint) + "-back",
             .to = CheckpointFormat::kHuggingFace});
    EXPECT_TRUE(read_text(source / "model.safetensors") ==
                read_text(folder_ / (std::string(c.checkpoint) + "-back") / "model.safetensors"));
  }
}

// What Megatron's converter wrote becomes the Hugging Face source; with the configuration that it loses, or
// without.
TEST_F(RealConversion, RealFilesGiveTheirSource) {
  for (const auto& [checkpoint, source] :
       {std::pair("llama-local-tp1-pp1", "llama-tiny"), std::pair("llama-local-tp2-pp2", "llama-tiny"),
        std::pair("llama-te22-tp2-pp2", "llama-tiny"), std::pair("llama-te113-tp1-pp1", "llama-tiny"),
        std::pair("llama-torchdist-tp2-pp2", "llama-tiny"),
        std::pair("tied-local-tp2-pp2", "llama-tiny-tied")}) {
    SCOPED_TRACE(checkpoint);
    convert(
        {.source = data_ / "ckpt" / checkpoint, .target = checkpoint, .to = CheckpointFormat::kHuggingFace});
    EXPECT_TRUE(read_text(data_ / "hf" / source / "model.safetensors") ==
                read_text(folder_ / checkpoint / "model.safetensors"));
  }
}

TEST_F(RealConversion, TorchDistHasTheRealTensors) {
  convert({.source = data_ / "hf/llama-tiny",
           .target = "dist",
           .to = CheckpointFormat::kTorchDist,
           .tp = 2,
           .pp = 2});
  const TorchDistFolder folder(folder_ / "dist/iter_0000001");
  const JsonDocument document = read_json(data_ / "expected.json");
  for (const auto& [name, entry] : document.root().at("llama-torchdist-tp2-pp2").items()) {
    const TorchDistEntry& tensor = folder.at(name);
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(tensor.data.shape().elements() * size_of(tensor.dtype)));
    tensor.data.read(0, tensor.data.shape().elements(), bytes);
    EXPECT_EQ(hash(bytes), entry.at(2).as_string()) << name;
  }
}

// From the split of the run to others and back: the optimizer's tensors are the real ones again.
TEST_F(RealConversion, OptimizerFromSplitToSplitAndBack) {
  for (const char* checkpoint : {"gpt-torch-tp1-pp1", "gpt-torch-distopt-dp2"}) {
    SCOPED_TRACE(checkpoint);
    const fs::path real = data_ / "ckpt" / checkpoint;
    const std::string name = checkpoint;
    const bool distributed = name.find("distopt") != std::string::npos;
    convert({.source = real,
             .target = name + "-a",
             .to = CheckpointFormat::kMegatron,
             .tp = 2,
             .pp = 2,
             .naming = MegatronNaming::kLocal});
    convert({.source = folder_ / (name + "-a"),
             .target = name + "-b",
             .to = CheckpointFormat::kMegatron,
             .tp = 1,
             .pp = 2,
             .virtual_stages = 2,
             .distributed_optimizer = !distributed});
    convert({.source = folder_ / (name + "-b"),
             .target = name + "-c",
             .to = CheckpointFormat::kTorchDist,
             .tp = 4});
    convert({.source = folder_ / (name + "-c"), .target = name + "-d", .to = CheckpointFormat::kNadi});
    for (const char* step : {"-a", "-b", "-c", "-d"}) expect_same_model(real, folder_ / (name + step));
    // Back to the split of the run, by way of -c: the real file's tensors.
    convert({.source = folder_ / (name + "-c"),
             .target = name + "-e",
             .to = CheckpointFormat::kMegatron,
             .tp = 1,
             .pp = 1,
             .naming = MegatronNaming::kLocal,
             .distributed_optimizer = distributed});
    expect_real_files(checkpoint, folder_ / (name + "-e"));
  }
}

}  // namespace
}  // namespace nadi::inline files
