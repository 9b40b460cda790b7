// What Llama, Mistral and Qwen2 share: the model that builds their graph, and the keys of config.json that
// mean the same in all of them. For the files of these architectures.
#pragma once

namespace nadi::inline describe {

class ConfigKeys;
class Model;
struct ModelConfig;

// Builds Llama's graph with the biases that the configuration has.
const Model& llama_model();

// Sizes, norm, dropout, rotary frequencies, tied embeddings. No biases; key-value heads are left to the
// caller, since their default differs.
void read_llama_keys(ConfigKeys& keys, ModelConfig& config);

}  // namespace nadi::inline describe
