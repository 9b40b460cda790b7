// Legacy checkpoints that are damaged, mixed or lie: each gives its message, and none anything else than an
// Error.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/megatron_checkpoint/legacy_checkpoint_for_tests.h"
#include "nadi/megatron_checkpoint/legacy_source.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/testing/source_folder.h"
#include "nadi/torch_file/torch_writer.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

class LegacyDamage : public FolderTest {
 protected:
  // tp 2, pp 2, with a distributed optimizer, iteration 9.
  fs::path good(const std::string& name = "good", std::int64_t iteration = 9, std::int64_t layers = 2) {
    ModelInMemory memory(tiny_model(architecture_named("llama"), layers));
    const BlockSource source(memory.training({.padded_vocabulary = 16}));
    write_legacy_checkpoint(
        source,
        {.tp = 2, .pp = 2, .naming = MegatronNaming::kLocal, .padded_vocabulary = 16, .whole_vocabulary = 16},
        {.dtype = FileDType::kF32, .iteration = iteration, .optimizer = true, .distributed_optimizer = true},
        folder_ / name);
    return folder_ / name;
  }

  static std::string message_of(const fs::path& folder, const LegacyOptions& options = {}) {
    const auto error = error_of([&] { open_legacy_checkpoint(folder, options); });
    if (!error) return "no error";
    EXPECT_EQ(error->kind(), ErrorKind::kInput);
    return error->what();
  }
};

TEST_F(LegacyDamage, AMissingRank) {
  const fs::path folder = good();
  fs::remove_all(folder / "iter_0000009/mp_rank_01_000");
  EXPECT_THAT(message_of(folder), EndsWith("mp_rank_01_000: this rank is missing: 3 of 2 x 2 ranks (tensor x "
                                           "pipeline) are there"));
  fs::remove_all(folder / "iter_0000009/mp_rank_01_001");
  EXPECT_THAT(message_of(folder), HasSubstr("'tensor_model_parallel_size' is 2, but there are folders of 1"));
}

TEST_F(LegacyDamage, AMissingFile) {
  const fs::path folder = good();
  fs::remove(folder / "iter_0000009/mp_rank_01_001/distrib_optim.pt");
  EXPECT_THAT(message_of(folder),
              HasSubstr("distrib_optim.pt: the file is missing: the optimizer was a distributed one"));
  EXPECT_EQ(message_of(folder, {.optimizer = false}), "no error");
  fs::remove(folder / "iter_0000009/mp_rank_01_001/model_optim_rng.pt");
  EXPECT_THAT(message_of(folder), HasSubstr("mp_rank_01_001/model_optim_rng.pt"));
}

TEST_F(LegacyDamage, FoldersOfTwoSplits) {
  const fs::path folder = good();
  fs::copy(folder / "iter_0000009/mp_rank_00_000", folder / "iter_0000009/mp_rank_00");
  EXPECT_THAT(message_of(folder), HasSubstr("with and without a pipeline stage: two checkpoints are mixed"));
  fs::remove_all(folder / "iter_0000009/mp_rank_00");
  fs::copy(folder / "iter_0000009/mp_rank_00_000", folder / "iter_0000009/mp_rank_00_000_000");
  EXPECT_THAT(message_of(folder), HasSubstr("ranks of experts"));
}

TEST_F(LegacyDamage, FilesOfTwoCheckpoints) {
  const fs::path folder = good(), later = good("later", 12), longer = good("longer", 9, 4);
  const fs::path rank = folder / "iter_0000009/mp_rank_01_001/model_optim_rng.pt";
  const auto replace = [&](const fs::path& with) {
    fs::copy_file(with, rank, fs::copy_options::overwrite_existing);
  };
  replace(later / "iter_0000012/mp_rank_01_001/model_optim_rng.pt");
  EXPECT_THAT(message_of(folder),
              AllOf(HasSubstr("mp_rank_01_001"), HasSubstr("'iteration' is 12, but 9 in ")));
  replace(longer / "iter_0000009/mp_rank_01_001/model_optim_rng.pt");
  EXPECT_THAT(message_of(folder), HasSubstr("'num_layers' is 4, but 2 in "));
  replace(folder / "iter_0000009/mp_rank_00_000/model_optim_rng.pt");  // another stage
  EXPECT_THAT(message_of(folder), HasSubstr("'model' has no 'decoder.final_layernorm.weight'"));
}

TEST_F(LegacyDamage, AConfigurationOfAnotherModel) {
  const fs::path folder = good();
  ModelConfig config = tiny_model(architecture_named("llama"), 2);
  EXPECT_EQ(message_of(folder, {.config = config}), "no error");
  config.layers = 3;
  EXPECT_THAT(message_of(folder, {.config = config}),
              HasSubstr("the configuration has 3 layers, the tensors have 2"));
  config = tiny_model(architecture_named("llama"), 2);
  config.heads = 4;
  EXPECT_THAT(message_of(folder, {.config = config}), HasSubstr("rows of queries, keys and values"));
  config = tiny_model(architecture_named("llama"), 2);
  config.vocabulary = 17;
  EXPECT_THAT(message_of(folder, {.config = config}),
              HasSubstr("a vocabulary of 17, the tensors have 16 rows"));
  config = tiny_model(architecture_named("bert"), 2);
  config.heads = config.kv_heads = 8;
  EXPECT_NE(message_of(folder, {.config = config}), "no error");
}

// A name that claims more layers than there can be is refused before anything is made for them.
TEST_F(LegacyDamage, ALayerThatCannotBe) {
  PickleArena values;
  const PickleValue root = values.dict(), model = values.ordered_dict();
  TorchStorage& storage = values.storage(FileDType::kF32, 4);
  values.set(model, "decoder.layers.9999999.mlp.linear_fc2.weight",
             values.tensor({.storage = &storage, .shape = {2, 2}}));
  values.set(root, "checkpoint_version", values.real(3.0));
  values.set(root, "iteration", values.integer(1));
  values.set(root, "model", model);
  fs::create_directories(folder_ / "lie/iter_0000001/mp_rank_00");
  AtomicFile file(folder_ / "lie/iter_0000001/mp_rank_00/model_optim_rng.pt", Overwrite::kRefuse);
  const std::vector<std::byte> zeros(16);
  write_torch_file(file, root, [&](const TorchStorage&, const StorageSink& sink) { sink(zeros); });
  file.commit();
  write_iteration_tracker(folder_ / "lie", 1);
  EXPECT_THAT(message_of(folder_ / "lie"), HasSubstr("layer 9999999 of a part with 1 tensors"));
}

TEST_F(LegacyDamage, ATrackerFileThatLies) {
  const fs::path folder = good();
  write_text(folder / "latest_checkpointed_iteration.txt", "10");
  EXPECT_THAT(message_of(folder), HasSubstr("iter_0000010"));
  EXPECT_EQ(message_of(folder / "iter_0000009"), "no error");
}

// Wherever a file ends: an Error that names it.
void expect_errors_when_cut(const fs::path& folder, const fs::path& file, std::uint64_t seed) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30; ++round) {
    const auto size = static_cast<std::size_t>(random() % bytes.size());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes.substr(0, size);
    const auto error = error_of([&] { open_legacy_checkpoint(folder); });
    ASSERT_TRUE(error) << size << " of " << bytes.size();
    EXPECT_EQ(error->kind(), ErrorKind::kInput);
    EXPECT_THAT(error->what(), HasSubstr(file.filename().string()));
  }
  // Flipped bits: an Error or another number, never anything else.
  for (int round = 0; round < 60; ++round) {
    std::string flipped = bytes;
    for (int i = 0; i < 4; ++i) flipped[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << flipped;
    const auto error = error_of([&] { open_legacy_checkpoint(folder); });
    EXPECT_TRUE(!error || error->kind() == ErrorKind::kInput || error->kind() == ErrorKind::kUsage)
        << error->what();
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

TEST_F(LegacyDamage, FilesThatEndAnywhere) {
  const fs::path folder = good();
  for (const char* name : {"model_optim_rng.pt", "distrib_optim.pt"})
    expect_errors_when_cut(folder, folder / "iter_0000009/mp_rank_01_000" / name, 1);
}

TEST_F(LegacyDamage, RealFilesThatEndAnywhere) {
  const fs::path real = shared_data() / "megatron-checkpoints/ckpt";
  if (!fs::exists(real)) GTEST_SKIP() << "the checkpoints of Megatron-LM are not there";
  for (const auto& [name, file] :
       {std::pair("llama-local-tp2-pp2", "iter_0000001/mp_rank_01_001/model_optim_rng.pt"),
        std::pair("gpt-torch-tp1-pp1", "iter_0000003/mp_rank_00/model_optim_rng.pt"),
        std::pair("gpt-torch-distopt-dp2", "iter_0000003/mp_rank_00/distrib_optim.pt")}) {
    fs::copy(real / name, folder_ / name, fs::copy_options::recursive);
    fs::permissions(folder_ / name / file, fs::perms::owner_all);
    expect_errors_when_cut(folder_ / name, folder_ / name / file, 2);
  }
}

}  // namespace
}  // namespace nadi::inline files
