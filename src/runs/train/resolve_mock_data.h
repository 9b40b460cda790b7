// Random tokens as what a run trains on: resolve_data.h calls this for TrainDataRequest::mock.
#pragma once

#include "nadi/train/resolve_data.h"

namespace nadi::inline runs {

// Needs no files and no tokenizer. A tokenizer that is given decides the vocabulary of a model that has none,
// and is saved with the checkpoints.
ResolvedTrainData resolve_mock_data(TrainDataRequest request, ModelConfig& config, DataListener& listener);

}  // namespace nadi::inline runs
