// Which files and folders belong to a checkpoint, by their names: ours, Hugging Face's, Megatron-LM's. What
// is replaced or removed as a checkpoint holds nothing else.
//
//   AtomicFolder folder(target, {.overwrite = Overwrite::kAllow, .removable = is_of_a_checkpoint});
//   if (const auto stranger = find_stranger("run/checkpoint-100")) note("it holds " + stranger->string());
#pragma once

#include <filesystem>
#include <optional>

namespace nadi::inline files {

// `within` is the path of a file or folder within the checkpoint: "model.safetensors",
// "iter_0000001/mp_rank_00".
bool is_of_a_checkpoint(const std::filesystem::path& within);

// Something in the folder that is not of a checkpoint, by its path within the folder: the first in the order
// of names. Symbolic links are not followed, and a link is of a checkpoint when a file of its name is.
std::optional<std::filesystem::path> find_stranger(const std::filesystem::path& folder);

}  // namespace nadi::inline files
