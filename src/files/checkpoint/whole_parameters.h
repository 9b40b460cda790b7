// Which parameters a model has, on one rank: names and shapes as its graph has them, without building the
// graph of more than one layer.
#pragma once

#include <vector>

#include "nadi/checkpoint/pretrained_folder.h"
#include "nadi/model/model_config.h"

namespace nadi::inline files {

// In the order of the model: embeddings, layers, head. A tied output layer is no parameter.
std::vector<WantedTensor> whole_parameters(const ModelConfig& config);

}  // namespace nadi::inline files
