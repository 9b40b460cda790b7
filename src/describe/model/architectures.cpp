#include "nadi/model/architectures.h"

#include <array>

#include "nadi/base/error.h"

namespace nadi::inline describe {

std::span<const ArchitectureEntry> architectures() {
  static const std::array kEntries{gpt2_architecture(), bert_architecture(), llama_architecture(),
                                   mistral_architecture(), qwen2_architecture()};
  return kEntries;
}

namespace {

const ArchitectureEntry& entry_of(Architecture architecture) {
  for (const ArchitectureEntry& entry : architectures())
    if (entry.architecture == architecture) return entry;
  unreachable();
}

}  // namespace

std::string_view to_string(Architecture architecture) {
  return entry_of(architecture).model_type;
}

const Model& model_of(Architecture architecture) {
  return *entry_of(architecture).model;
}

}  // namespace nadi::inline describe
