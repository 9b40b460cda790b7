// Checkpoints that Megatron-LM core_v0.12.3 wrote itself, and the Hugging Face folders that they were
// converted from. expected.json has the hash of every tensor.
#include <gmock/gmock.h>

#include <filesystem>

#include "nadi/base/files_for_tests.h"
#include "nadi/base/half.h"
#include "nadi/base/json.h"
#include "nadi/base/sha256.h"
#include "nadi/checkpoint/pretrained_source.h"
#include "nadi/megatron_checkpoint/legacy_checkpoint_for_tests.h"
#include "nadi/megatron_checkpoint/legacy_source.h"
#include "nadi/megatron_checkpoint/optimizer_layout.h"
#include "nadi/testing/source_folder.h"
#include "nadi/torch_file/torch_file.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

class RealLegacyCheckpoints : public FolderTest {
 protected:
  void SetUp() override {
    if (!fs::exists(data_)) GTEST_SKIP() << "the checkpoints of Megatron-LM are not there";
  }

  static std::string hash(std::span<const std::byte> bytes) { return sha256_hex(bytes).substr(0, 16); }

  // Hashes of a file's tensors by path.
  std::map<std::string, std::string> expected(const std::string& checkpoint, const std::string& file) const {
    const JsonDocument document = read_json(data_ / "expected.json");
    std::map<std::string, std::string> hashes;
    for (const auto& [path, entry] : document.root().at(checkpoint).at(file).items())
      hashes[std::string(path)] = entry.at(2).as_string();
    return hashes;
  }

  const fs::path data_ = shared_data() / "megatron-checkpoints";
};

// A path, without the tuple of types that a flat buffer stands under.
std::string key_of(const std::string& path) {
  return path.starts_with("0/") ? path.substr(path.rfind('/')) : path;
}

void expect_equal_models(const WholeModel& a, const WholeModel& b) {
  for (const WholeTensor& tensor : a.tensors()) {
    const WholeTensor& other = b.at(tensor.name);
    ASSERT_EQ(tensor.shape, other.shape) << tensor.name;
    ASSERT_EQ(tensor.dtype, other.dtype) << tensor.name;
    std::vector<std::byte> of_a(tensor.bytes_of(tensor.whole())), of_b(of_a.size());
    a.read(tensor, tensor.whole(), of_a);
    b.read(other, other.whole(), of_b);
    EXPECT_TRUE(of_a == of_b) << tensor.name;
  }
}

TEST_F(RealLegacyCheckpoints, GiveTheirHuggingFaceSourceByteForByte) {
  for (const auto& [checkpoint, source] :
       {std::pair("llama-local-tp1-pp1", "llama-tiny"), std::pair("llama-local-tp2-pp2", "llama-tiny"),
        std::pair("llama-te22-tp2-pp2", "llama-tiny"), std::pair("llama-te113-tp1-pp1", "llama-tiny"),
        std::pair("tied-local-tp2-pp2", "llama-tiny-tied")}) {
    SCOPED_TRACE(checkpoint);
    const auto model = open_legacy_checkpoint(data_ / "ckpt" / checkpoint);
    expect_equal_models(*open_pretrained(data_ / "hf" / source), *model);
    EXPECT_EQ(model->config().vocabulary, std::string(source) == "llama-tiny" ? 256 : 250);
    EXPECT_EQ(model->config().kv_heads, 2);
    EXPECT_EQ(model->config().positions, 8192);
    EXPECT_EQ(model->progress()->iteration, 1);
    EXPECT_FALSE(model->progress()->adam);
  }
}

// What the converter loses comes from a given configuration.
TEST_F(RealLegacyCheckpoints, TakeAGivenConfiguration) {
  const auto source = open_pretrained(data_ / "hf/llama-tiny");
  const auto model = open_legacy_checkpoint(data_ / "ckpt/llama-local-tp2-pp2", {.config = source->config()});
  EXPECT_EQ(model->config().rotary.theta, 500000);
  EXPECT_EQ(open_legacy_checkpoint(data_ / "ckpt/llama-local-tp2-pp2")->config().rotary.theta, 10000);
}

// From the Hugging Face source to every split, tensor by tensor.
TEST_F(RealLegacyCheckpoints, AreWhatTheLayoutMakesOfTheirSource) {
  struct Case {
    const char *checkpoint, *source;
    MegatronSplit split;
  };
  const MegatronNaming local = MegatronNaming::kLocal, engine = MegatronNaming::kTransformerEngine;
  for (const Case& c : {Case{"llama-local-tp1-pp1", "llama-tiny", {.naming = local}},
                        Case{"llama-local-tp2-pp2", "llama-tiny", {.tp = 2, .pp = 2, .naming = local}},
                        Case{"llama-te22-tp2-pp2", "llama-tiny", {.tp = 2, .pp = 2, .naming = engine}},
                        Case{"llama-te113-tp1-pp1", "llama-tiny", {.naming = engine}},
                        Case{"tied-local-tp2-pp2", "llama-tiny-tied", {.tp = 2, .pp = 2, .naming = local}}}) {
    SCOPED_TRACE(c.checkpoint);
    const auto model = open_pretrained(data_ / "hf" / c.source);
    const ShardLayout layout(model->config(), c.split);
    for (std::int64_t pp = 0; pp < c.split.pp; ++pp)
      for (std::int64_t tp = 0; tp < c.split.tp; ++tp) {
        auto hashes = expected(c.checkpoint, "iter_0000001/" + shard_folder(c.split, {.tp = tp, .pp = pp}) +
                                                 "/model_optim_rng.pt");
        std::erase_if(hashes, [](const auto& entry) { return entry.first.ends_with("_extra_state"); });
        const std::vector<ShardTensor> tensors = layout.rank({.tp = tp, .pp = pp}).front().tensors;
        for (const ShardTensor& tensor : tensors) {
          EXPECT_EQ(hash(shard_bytes(*model, tensor)), hashes["model/" + tensor.name]) << tensor.name;
          hashes.erase("model/" + tensor.name);
        }
        EXPECT_TRUE(hashes.empty()) << hashes.begin()->first;
      }
  }
}

TEST_F(RealLegacyCheckpoints, HaveThePlainOptimizer) {
  const auto model = open_legacy_checkpoint(data_ / "ckpt/gpt-torch-tp1-pp1");
  EXPECT_EQ(model->config().architecture, architecture_named("gpt2"));
  EXPECT_EQ(model->config().vocabulary, 251);
  EXPECT_EQ(model->at("transformer.wte.weight").stored_rows, 256);
  const TrainingProgress& progress = *model->progress();
  EXPECT_EQ(progress.iteration, 3);
  EXPECT_EQ(
      progress.adam,
      (AdamNumbers{
          .updates = 3, .rate = 1e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1}));
  EXPECT_EQ(progress.schedule->warmup_samples, 4);
  EXPECT_EQ(progress.schedule->decay, "cosine");
  EXPECT_EQ(progress.samples, 12);

  auto hashes = expected("gpt-torch-tp1-pp1", "iter_0000003/mp_rank_00/model_optim_rng.pt");
  const std::vector<ShardTensor> tensors =
      ShardLayout(model->config(), *model->split()).rank({}).front().tensors;
  std::size_t index = 0;
  for (const OptimizerGroup& group : optimizer_groups(tensors))
    for (const std::size_t i : group.parameters) {
      const std::string path = "optimizer/optimizer/state/" + std::to_string(index++);
      EXPECT_EQ(hash(shard_bytes(*model, with_suffix(tensors[i], ".m"))), hashes.at(path + "/exp_avg"));
      EXPECT_EQ(hash(shard_bytes(*model, with_suffix(tensors[i], ".v"))), hashes.at(path + "/exp_avg_sq"));
    }
  for (const ShardTensor& tensor : tensors)
    EXPECT_EQ(hash(shard_bytes(*model, tensor)), hashes.at("model/" + tensor.name));
}

// Masters, rounded to bf16, are the weights.
TEST_F(RealLegacyCheckpoints, HaveMastersThatRoundToTheWeights) {
  for (const char* checkpoint : {"gpt-torch-tp1-pp1", "gpt-torch-distopt-dp2"}) {
    const auto model = open_legacy_checkpoint(data_ / "ckpt" / checkpoint);
    for (const WholeTensor& tensor : model->tensors()) {
      if (tensor.dtype != FileDType::kBF16) continue;
      const WholeTensor& master = model->at(tensor.name + ".master");
      const TensorBlock all{.rows = tensor.stored_rows, .columns = tensor.columns()};
      std::vector<std::uint16_t> weights(static_cast<std::size_t>(all.elements()));
      std::vector<float> values(weights.size());
      model->read(tensor, all, std::as_writable_bytes(std::span(weights)));
      model->read(master, all, std::as_writable_bytes(std::span(values)));
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(to_bf16(values[i]), weights[i]) << tensor.name;
    }
    EXPECT_EQ(model->progress()->adam->updates, 3);
  }
}

TEST_F(RealLegacyCheckpoints, HaveTheDistributedOptimizer) {
  const auto model = open_legacy_checkpoint(data_ / "ckpt/gpt-torch-distopt-dp2");
  auto hashes = expected("gpt-torch-distopt-dp2", "iter_0000003/mp_rank_00/distrib_optim.pt");
  const std::vector<ShardTensor> tensors =
      ShardLayout(model->config(), *model->split()).rank({}).front().tensors;
  const FlatBuffer layout = flat_buffer(tensors, {.flat = {.ranks = 2}});
  for (const auto& [key, suffix] :
       {std::pair("param", ".master"), std::pair("exp_avg", ".m"), std::pair("exp_avg_sq", ".v")}) {
    std::vector<std::byte> flat(static_cast<std::size_t>(layout.elements) * sizeof(float));
    for (std::size_t i = 0; i < tensors.size(); ++i)
      std::ranges::copy(shard_bytes(*model, with_suffix(tensors[i], suffix)),
                        flat.begin() + layout.first[i] * static_cast<std::int64_t>(sizeof(float)));
    EXPECT_EQ(hash(flat), hashes.at(std::string("0/(torch.bfloat16, torch.float32)/") + key));
  }
}

// To other splits and other optimizers, and back to the bytes of the real files.
TEST_F(RealLegacyCheckpoints, GoToOtherSplitsAndBack) {
  for (const std::string checkpoint : {"gpt-torch-tp1-pp1", "gpt-torch-distopt-dp2"}) {
    const auto original = open_legacy_checkpoint(data_ / "ckpt" / checkpoint);
    int number = 0;
    for (const MegatronSplit& split :
         {MegatronSplit{.tp = 2},
          MegatronSplit{.tp = 4, .pp = 2, .naming = MegatronNaming::kTransformerEngine},
          MegatronSplit{.tp = 2, .pp = 2, .virtual_stages = 2, .naming = MegatronNaming::kLocal}})
      for (const bool distributed : {false, true}) {
        // Parameters of so small a model have no multiples of 128 elements.
        if (distributed && split.pp > 1) continue;
        SCOPED_TRACE(checkpoint + " over tp " + std::to_string(split.tp) + " pp " + std::to_string(split.pp));
        MegatronSplit there = split;
        there.padded_vocabulary = there.whole_vocabulary = 256;
        const fs::path folder = folder_ / (checkpoint + std::to_string(number++));
        write_legacy_checkpoint(*original, there,
                                {.iteration = 3, .optimizer = true, .distributed_optimizer = distributed},
                                folder);
        const auto changed = open_legacy_checkpoint(folder);
        expect_equal_models(*original, *changed);
        EXPECT_EQ(changed->progress()->adam, original->progress()->adam);
        EXPECT_EQ(changed->progress()->schedule, original->progress()->schedule);

        // Back, and compared with the hashes of the real files.
        write_legacy_checkpoint(
            *changed, *original->split(),
            {.iteration = 3, .optimizer = true, .distributed_optimizer = original->distributed_optimizer()},
            folder / "back");
        for (const char* name : {"model_optim_rng.pt", "distrib_optim.pt"}) {
          const std::string path = std::string("iter_0000003/mp_rank_00/") + name;
          if (!fs::exists(data_ / "ckpt" / checkpoint / path)) continue;
          const TorchFile file(folder / "back" / path, {.unknown_classes = UnknownClasses::kKeep});
          std::map<std::string, std::string> hashes;
          for (const NamedTorchTensor& named : file.tensors()) {
            std::vector<std::byte> bytes(static_cast<std::size_t>(named.tensor->size()));
            named.tensor->read(bytes);
            hashes[key_of(named.path)] = hash(bytes);
          }
          for (const auto& [tensor, expected_hash] : expected(checkpoint, path)) {
            if (tensor.starts_with("rng_state")) continue;  // those are not written
            EXPECT_EQ(hashes[key_of(tensor)], expected_hash) << tensor;
          }
        }
      }
  }
}

}  // namespace
}  // namespace nadi::inline files
