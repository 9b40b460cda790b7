// What a checkpoint of ours says about its training, in the terms that all formats share (whole_model.h).
#pragma once

#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint/whole_model.h"

namespace nadi::inline files {

// `tensors` is the file of the training state. The optimizer's numbers are there only for Adam and AdamW,
// since no other format knows another optimizer.
TrainingProgress own_progress(const TrainingState& state, const SafetensorsReader& tensors);

}  // namespace nadi::inline files
