// Where Megatron-LM's checkpoints are: DIR/iter_0000500/, and in DIR/latest_checkpointed_iteration.txt the
// number of the newest complete one. The word `release` there stands for DIR/release/, weights without a
// training.
//
//   const auto found = find_megatron_checkpoint("checkpoints/llama");         // as the tracker file says
//   const auto found = find_megatron_checkpoint("checkpoints/llama", 400);    // or this iteration
//   const auto found = find_megatron_checkpoint("checkpoints/llama/iter_0000400");   // or the folder itself
//   if (found) open(found->path, found->form);
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nadi::inline files {

inline constexpr const char* kIterationTracker = "latest_checkpointed_iteration.txt";

enum class MegatronForm : std::uint8_t {
  kTorch,      // mp_rank_00/model_optim_rng.pt, one for each rank of a model
  kTorchDist,  // metadata.json, common.pt, .metadata, *.distcp
};
std::string_view to_string(MegatronForm form);  // "torch", "torch_dist": as --ckpt-format takes them

struct MegatronCheckpoint {
  std::int64_t iteration = 0;  // 0 for a release
  bool release = false;
  std::filesystem::path path = {};
  MegatronForm form = MegatronForm::kTorch;
};

std::string iteration_folder_name(std::int64_t iteration);  // "iter_0000500"

// Nothing where there is neither a tracker file nor a checkpoint: the folder is none of Megatron's. Error
// (input): a tracker file that is neither a number nor `release`, or names a folder that is not there or is
// no checkpoint.
std::optional<MegatronCheckpoint> find_megatron_checkpoint(const std::filesystem::path& folder,
                                                           std::optional<std::int64_t> iteration = {});

// Iterations of which there is a folder of a checkpoint, complete or not, ascending.
std::vector<std::int64_t> megatron_iterations(const std::filesystem::path& folder);

// Replaces the tracker file in one step.
void write_iteration_tracker(const std::filesystem::path& folder, std::int64_t iteration);

}  // namespace nadi::inline files
