// Opens a checkpoint of any format as one whole model.
//
//   const OpenedCheckpoint opened = open_checkpoint("checkpoints/llama");
//   print(opened.model->kind());
//
// A folder with latest_checkpointed_iteration.txt or an iter_0000500 itself is Megatron-LM's; one with
// training_state.json a checkpoint of ours; one with config.json a Hugging Face folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/checkpoint_conversion/checkpoint_format.h"
#include "nadi/megatron_checkpoint/shard_layout.h"

namespace nadi::inline files {

struct OpenOptions {
  std::optional<ModelConfig> config = {};      // instead of what a checkpoint of Megatron-LM says
  std::optional<std::int64_t> iteration = {};  // of Megatron-LM's; instead of the newest
  bool optimizer = true;                       // false means weights alone
  Verify verify = Verify::kYes;  // whether data is checked against its checksums when it is read
};

struct OpenedCheckpoint {
  std::unique_ptr<WholeModel> model = nullptr;
  CheckpointFormat format = CheckpointFormat::kHuggingFace;
  std::optional<MegatronSplit> split = {};  // of Megatron-LM's
  bool distributed_optimizer = false;
};

// The format alone, from the names in the folder. Error (input) where there is no checkpoint, with what there
// is.
CheckpointFormat checkpoint_format(const std::filesystem::path& folder);

OpenedCheckpoint open_checkpoint(const std::filesystem::path& folder, const OpenOptions& options = {});

}  // namespace nadi::inline files
