#include "nadi/checkpoint/checkpoint_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

// Weights, shards of them, states of optimizers and random numbers, of whatever number.
constexpr std::array<std::string_view, 7> kCheckpointEndings{
    ".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pt", ".pth", ".distcp"};

constexpr std::array<std::string_view, 23> kCheckpointFiles{".gitattributes",
                                                            ".metadata",
                                                            "added_tokens.json",
                                                            "chat_template.jinja",
                                                            "config.json",
                                                            "generation_config.json",
                                                            "latest_checkpointed_iteration.txt",
                                                            "latest_wandb_artifact_path.txt",
                                                            "merges.txt",
                                                            "metadata.json",
                                                            "nadi_checksums.json",
                                                            "preprocessor_config.json",
                                                            "progress.txt",
                                                            "special_tokens_map.json",
                                                            "spiece.model",
                                                            "tokenizer.json",
                                                            "tokenizer.model",
                                                            "tokenizer.model.v3",
                                                            "tokenizer_config.json",
                                                            "trainer_state.json",
                                                            "training_state.json",
                                                            "vocab.json",
                                                            "vocab.txt"};

// Megatron-LM's: iterations, weights without a training, ranks.
constexpr std::array<std::string_view, 2> kFolderPrefixes{"iter_", "mp_rank_"};
constexpr std::string_view kReleaseFolder = "release";
// What a killed program left within.
constexpr std::string_view kLeftoverPrefix = ".nadi.";

bool is_checkpoint_folder(std::string_view name) {
  return name == kReleaseFolder || std::ranges::any_of(kFolderPrefixes, [&](std::string_view prefix) {
           return name.starts_with(prefix);
         });
}

bool is_checkpoint_file(std::string_view name) {
  return std::ranges::find(kCheckpointFiles, name) != kCheckpointFiles.end() ||
         std::ranges::any_of(kCheckpointEndings,
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

std::optional<fs::path> find_stranger_below(const fs::path& folder, const fs::path& within) {
  std::vector<fs::path> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder / within, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(within / entry->path().filename());
  std::ranges::sort(names);
  for (const fs::path& name : names) {
    if (!is_of_a_checkpoint(name)) return name;
    if (fs::is_directory(fs::symlink_status(folder / name, error)))
      if (const auto found = find_stranger_below(folder, name)) return found;
  }
  return std::nullopt;
}

}  // namespace

bool is_of_a_checkpoint(const fs::path& within) {
  for (const fs::path& part : within.parent_path())
    if (!is_checkpoint_folder(part.string())) return false;
  const std::string name = within.filename().string();
  return is_checkpoint_file(name) || is_checkpoint_folder(name) || name.starts_with(kLeftoverPrefix);
}

std::optional<fs::path> find_stranger(const fs::path& folder) {
  return find_stranger_below(folder, {});
}

}  // namespace nadi::inline files
