#include "nadi/model/architecture.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/embedded_file.h"
#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/model/architecture_reader.h"

namespace nadi::inline describe {

std::span<const EmbeddedFile> built_in_architectures_files();

namespace {

std::vector<Architecture> read_built_in() {
  std::vector<Architecture> all;
  for (const EmbeddedFile& file : built_in_architectures_files()) {
    const JsonDocument document = parse_json(std::string(file.text), std::string(file.name) + ".json");
    all.emplace_back(std::make_shared<const ArchitectureDescription>(read_architecture(document.root())));
  }
  return all;
}

}  // namespace

bool ArchitectureDescription::rotary() const {
  return std::ranges::any_of(block.parts, &BlockPart::rotary);
}

bool ArchitectureDescription::gated() const {
  return std::ranges::any_of(block.parts,
                             [](const BlockPart& part) { return !part.gate.empty() || part.experts; });
}

bool ArchitectureDescription::head_norms() const {
  return std::ranges::any_of(block.parts, [](const BlockPart& part) { return !part.query_norm.empty(); });
}

bool ArchitectureDescription::experts() const {
  return std::ranges::any_of(block.parts, [](const BlockPart& part) { return part.experts.has_value(); });
}

bool ArchitectureDescription::hidden_dropout() const {
  return !embedding.dropout.empty() ||
         std::ranges::any_of(block.parts, [](const BlockPart& part) { return !part.dropout.empty(); });
}

bool ArchitectureDescription::norms_after() const {
  return std::ranges::any_of(block.parts, [](const BlockPart& part) { return !part.norm_after.empty(); });
}

bool ArchitectureDescription::uses_activation() const {
  return !output.transform.empty() || std::ranges::any_of(block.parts, [](const BlockPart& part) {
    return !part.attention() && part.gate.empty() && !part.experts;
  });
}

ArchitectureDescription::Traits ArchitectureDescription::traits() const {
  return {.encoder = masked(),
          .rotary = rotary(),
          .norm = norm,
          .gated = gated(),
          .head_norms = head_norms(),
          .experts = experts()};
}

bool ArchitectureDescription::can_have_biases(bool attention, bool attention_output, bool ffn) const {
  const std::pair<std::string_view, bool> wanted[]{
      {"attention_bias", attention}, {"attention_output_bias", attention_output}, {"ffn_bias", ffn}};
  for (const auto& [field, value] : wanted) {
    bool set_by_key = false;
    for (const ConfigEntry& entry : configuration) {
      if (std::ranges::find(entry.sets, field) == entry.sets.end()) continue;
      set_by_key = true;
      // What one key sets has one value.
      for (const auto& [other, other_value] : wanted)
        if (other_value != value && std::ranges::find(entry.sets, other) != entry.sets.end()) return false;
    }
    if (set_by_key) continue;
    bool has = true;  // as ModelConfig begins
    for (const auto& [name, fixed_value] : fixed)
      if (name == field) has = fixed_value;
    if (has != value) return false;
  }
  return true;
}

std::string ArchitectureDescription::word_embeddings() const {
  return joined_name(embedding.scope, embedding.words) + ".weight";
}

std::string ArchitectureDescription::in_block(std::int64_t number, std::string_view name) const {
  constexpr std::string_view kNumber = "{}";
  std::string scope = block.scope;
  scope.replace(scope.find(kNumber), kNumber.size(), std::to_string(number));
  return joined_name(scope, name);
}

Architecture::Architecture() : Architecture(architectures().front()) {}

bool Architecture::operator==(const Architecture& other) const {
  return description_ == other.description_ ||
         (description_->model_type == other->model_type && description_->text == other->text);
}

std::string_view to_string(const Architecture& architecture) {
  return architecture->model_type;
}

std::ostream& operator<<(std::ostream& out, const Architecture& architecture) {
  return out << architecture->model_type;
}

std::span<const Architecture> architectures() {
  static const std::vector<Architecture> kAll = read_built_in();
  return kAll;
}

const Architecture* find_architecture(std::string_view model_type) {
  for (const Architecture& architecture : architectures())
    if (architecture->model_type == model_type) return &architecture;
  return nullptr;
}

Architecture architecture_named(std::string_view model_type) {
  const Architecture* const found = find_architecture(model_type);
  check(found != nullptr, "an architecture of this name is built in");
  return *found;
}

const Architecture* find_architecture(const ArchitectureDescription::Traits& traits,
                                      const BiasKinds& biases) {
  const Architecture* first = nullptr;
  for (const Architecture& architecture : architectures()) {
    if (architecture->traits() != traits) continue;
    if (architecture->can_have_biases(biases.attention, biases.attention_output, biases.ffn))
      return &architecture;
    if (first == nullptr) first = &architecture;
  }
  return first;
}

std::string joined_name(std::string_view scope, std::string_view name) {
  std::string joined(scope);
  if (!scope.empty() && !name.empty()) joined += '.';
  return joined.append(name);
}

}  // namespace nadi::inline describe
