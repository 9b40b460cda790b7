// A whole model as a legacy checkpoint of Megatron-LM (--ckpt-format torch), file by file: what is in each
// file and from which blocks of the model it is filled. Nothing is written here.
//
//   const ShardLayout layout(model.config(), {.tp = 8, .pp = 2, .whole_vocabulary = stored rows of the
//   source}); for (const TargetFile& file : legacy_files(model, layout, {.dtype = FileDType::kBF16})) ...
//
// Keys and tensors are in Megatron's order. `_extra_state` is None everywhere, which local layers and
// Transformer Engine both take as nothing. There are no states of random numbers (--no-load-rng). The number
// of updates stands both with each parameter, where PyTorch's AdamW looks for it, and in the groups, where
// Apex does.
#pragma once

#include <vector>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/megatron_args_writer.h"
#include "nadi/megatron_checkpoint/shard_layout.h"
#include "nadi/megatron_checkpoint/target_file.h"

namespace nadi::inline files {

// Names are relative to the iteration's folder: "mp_rank_00_001/model_optim_rng.pt", "…/distrib_optim.pt".
// With several files of the same split, those of tensor-parallel rank 0 first within each stage. Error
// (usage) when the optimizer is wanted and the model has no moments.
std::vector<TargetFile> legacy_files(const WholeModel& model, const ShardLayout& layout,
                                     const MegatronTarget& target);

}  // namespace nadi::inline files
