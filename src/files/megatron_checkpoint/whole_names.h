// The names of a whole model's tensors by their part in a transformer, as the description of its architecture
// has them: what shard_layout.cpp packs and splits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/model/model_config.h"

namespace nadi::inline files {

// A linear layer, or the part of one that is packed with others: "<name>.weight", and "<name>.bias" where the
// model has it.
struct WholeLinear {
  std::string name;
  std::int64_t first_output = 0;  // of the part
  bool transposed = false;        // stored [in, out]
};

struct WholeLayerNames {
  std::string input_norm, mlp_norm;
  std::string query_norm, key_norm;  // per head
  WholeLinear query, key, value, proj;
  std::vector<WholeLinear> fc1;  // gate and up of a SwiGLU; else one
  WholeLinear fc2;
};

// Empty where the architecture has no such part. Names of matrices with ".weight", of norms and linear layers
// without.
struct WholeNames {
  std::string words;
  std::string positions = {};
  std::string token_types = {};
  std::string final_norm;
  std::string output;  // where it is not tied
  std::string output_bias = {};
  std::string head_dense = {}, head_norm = {};  // before the output layer
  std::string pooler = {}, binary_head = {};    // only in files: our models have none
};

// Error (input) where Megatron-LM has no such blocks, or the description does not say what it calls them.
void require_megatron_form(const ModelConfig& config);

WholeNames whole_names(const ModelConfig& config);
WholeLayerNames whole_layer_names(const ModelConfig& config, std::int64_t layer);

}  // namespace nadi::inline files
