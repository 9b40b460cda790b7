// The list of architectures: the only place that knows them all. Adding one is a file like gpt2.cpp with its
// model and its configuration keys, and a line in architectures.cpp.
#pragma once

#include <span>
#include <string_view>

#include "nadi/model/model.h"

namespace nadi::inline describe {

class ConfigKeys;

struct ArchitectureEntry {
  Architecture architecture;
  std::string_view model_type;  // as in config.json
  const Model* model;
  void (*read_config)(ConfigKeys& keys, ModelConfig& config);
};

std::span<const ArchitectureEntry> architectures();

// Defined in the architectures' own files.
ArchitectureEntry gpt2_architecture();
ArchitectureEntry bert_architecture();
ArchitectureEntry llama_architecture();
ArchitectureEntry mistral_architecture();
ArchitectureEntry qwen2_architecture();

}  // namespace nadi::inline describe
