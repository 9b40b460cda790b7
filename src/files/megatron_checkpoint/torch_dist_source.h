// A checkpoint of Megatron-LM in the form `torch_dist` as a whole model: weights and optimizer state under
// Hugging Face's names, whatever split and whatever chunks it was written with.
//
//   const auto model = open_torch_dist_checkpoint("checkpoints/llama/iter_0000500");
//
// What is read: model tensors; Adam's moments and fp32 masters as plain and as flattened tensors (a
// distributed optimizer with --ckpt-fully-parallel-save, Megatron's default). A distributed optimizer that
// was gathered on one rank (--no-ckpt-fully-parallel-save) or saved by buckets is refused with what to do
// instead.
//
// Error (input) as torch_dist_folder.h and block_source.h have it; for tensors that are not part of the model
// that `args` describe; for a checkpoint without `args` where no configuration is given.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "nadi/megatron_checkpoint/block_source.h"

namespace nadi::inline files {

// `config`: what `args` do not settle, or in place of them.
std::unique_ptr<BlockSource> open_torch_dist_checkpoint(const std::filesystem::path& folder,
                                                        const std::optional<ModelConfig>& config = {},
                                                        Verify verify = Verify::kYes);

}  // namespace nadi::inline files
