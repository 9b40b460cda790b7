// Megatron's datasets as what a run trains on: resolve_data.h calls this for TrainDataRequest::data_path.
#pragma once

#include "nadi/train/resolve_data.h"

namespace nadi::inline runs {

// The data is tokens already, so only BERT's masks and masked document ends need a tokenizer. Error as
// resolve_train_data(); Error (usage) where a tokenizer is needed and missing.
ResolvedTrainData resolve_indexed_data(TrainDataRequest request, ModelConfig& config, DataListener& listener);

}  // namespace nadi::inline runs
