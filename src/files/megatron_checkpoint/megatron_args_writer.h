// The parts of a checkpoint of Megatron-LM that are no tensors, made from a whole model: `args` with which
// --use-checkpoint-args works, the scheduler, the groups of the optimizer. The same in both formats.
//
//   PickleArena values;
//   const PickleValue root = values.dict();
//   values.set(root, "args", megatron_args(values, layout, target, progress));
//
// Against what Megatron's own converter writes, put right: params_dtype, bf16 and fp16 are those of the
// tensors; rotary_base and the scaling of rotary frequencies are the model's; seq_length is the model's or
// the training's. The whole config.json goes along as `nadi_config`, which Megatron does not look at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/optimizer_layout.h"
#include "nadi/megatron_checkpoint/shard_layout.h"
#include "nadi/torch_file/pickle_arena.h"

namespace nadi::inline files {

// What is written, besides the split.
struct MegatronTarget {
  FileDType dtype = FileDType::kBF16;  // of the weights: kF32, kBF16, kF16
  std::int64_t iteration = 1;          // as Megatron's converter has it
  bool optimizer = false;              // with moments and masters
  bool distributed_optimizer = false;  // in distrib_optim.pt, else in the rank's file
  std::string format = "torch";        // "torch_dist"
  // As --tokenizer-type and --tokenizer-model; "": the source's, or the architecture's usual one.
  std::string tokenizer_type = {};
  std::string tokenizer_model = {};
  std::int64_t sequence_length = 0;  // 0 means the training's, or all positions of the model
};

// What the user has to know: settings that Megatron cannot have, or does not take from `args`.
std::vector<std::string> megatron_notes(const ShardLayout& layout, const MegatronTarget& target);

// An argparse.Namespace.
PickleValue megatron_args(PickleArena& values, const ShardLayout& layout, const MegatronTarget& target,
                          const std::optional<TrainingProgress>& progress);

// "opt_param_scheduler". Without a schedule in the progress: a constant rate, as it stands.
PickleValue megatron_scheduler(PickleArena& values, const TrainingProgress& progress);

// An entry of "param_groups", without "params". The number of updates is in it, as Apex and the distributed
// optimizer have it; PyTorch's AdamW has it with each parameter.
PickleValue megatron_group(PickleArena& values, const TrainingProgress& progress, bool decays);

}  // namespace nadi::inline files
