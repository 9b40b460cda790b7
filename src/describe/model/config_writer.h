// The other way of config_file.h: a configuration as a config.json, from which load_model_config() makes the
// same ModelConfig and transformers' from_pretrained() the same model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nadi/graph/dtype.h"
#include "nadi/model/model_config.h"

namespace nadi::inline describe {

// What a configuration file says besides the model.
struct ConfigJsonOptions {
  DType dtype = DType::kF32;  // of the weights next to it
  std::optional<std::int64_t> begin_token = {};
  std::optional<std::int64_t> end_token = {};
  std::optional<std::int64_t> padding_token = {};
};

// The text of the file. Error (input) when the architecture's file has no key for something, such as a BERT
// whose embeddings and layers have different dropout.
std::string config_json(const ModelConfig& config, const ConfigJsonOptions& options = {});

}  // namespace nadi::inline describe
