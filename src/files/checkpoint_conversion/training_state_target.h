// The two files that make a Hugging Face folder a checkpoint of ours (checkpoint/training_state.h), from the
// training of any source.
//
// From a checkpoint of ours, state and tensors go along as they are. Of Megatron-LM's, the state is made from
// what its optimizer and scheduler say; what Megatron does not say is 0: losses, and where in an epoch the
// run stands.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/target_file.h"

namespace nadi::inline files {

// Error (usage) where the source is no training or has no optimizer state. `vocabulary` as in
// HuggingFaceOptions.
std::vector<TargetFile> training_state_files(const WholeModel& model, FileDType weights,
                                             std::int64_t vocabulary);

// The state that stands for a training of another program.
TrainingState state_of_training(const TrainingProgress& progress, FileDType weights);

}  // namespace nadi::inline files
