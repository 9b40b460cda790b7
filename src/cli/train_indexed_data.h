// Megatron's datasets as what a run trains on: train_data.h calls this for --data-path.
#pragma once

#include "nadi/cli/train_data.h"

namespace nadi {

// The data is tokens already, so a tokenizer is not needed, but for BERT's masks. Error as
// resolve_train_data(); Error (usage) for BERT without a tokenizer.
ResolvedTrainData resolve_indexed_data(TrainDataRequest request, ModelConfig& config, Console& console);

}  // namespace nadi
