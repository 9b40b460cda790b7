#include "nadi/model/architectures.h"

#include <array>

#include "nadi/base/error.h"

namespace nadi {

std::span<const ArchitectureEntry> architectures() {
  static const std::array kEntries{gpt2_architecture(), bert_architecture(), llama_architecture()};
  return kEntries;
}

const Model& model_of(Architecture architecture) {
  for (const ArchitectureEntry& entry : architectures())
    if (entry.architecture == architecture) return *entry.model;
  unreachable();
}

}  // namespace nadi
