#include "nadi/model/config_fields.h"

#include <algorithm>
#include <array>

namespace nadi::inline describe {
namespace {

constexpr std::array kFields{
    ConfigField{"vocabulary", &ModelConfig::vocabulary},
    ConfigField{"positions", &ModelConfig::positions},
    ConfigField{"layers", &ModelConfig::layers},
    ConfigField{"width", &ModelConfig::width},
    ConfigField{"heads", &ModelConfig::heads},
    ConfigField{"kv_heads", &ModelConfig::kv_heads},
    ConfigField{"head_width", &ModelConfig::head_width},
    ConfigField{"ffn_width", &ModelConfig::ffn_width},
    ConfigField{"token_types", &ModelConfig::token_types},
    ConfigField{"activation", &ModelConfig::activation},
    ConfigField{"norm_epsilon", &ModelConfig::norm_epsilon},
    ConfigField{"initializer_range", &ModelConfig::initializer_range},
    ConfigField{"embedding_dropout", &ModelConfig::embedding_dropout},
    ConfigField{"attention_dropout", &ModelConfig::attention_dropout},
    ConfigField{"residual_dropout", &ModelConfig::residual_dropout},
    ConfigField{"tied_embeddings", &ModelConfig::tied_embeddings},
    ConfigField{"attention_bias", &ModelConfig::attention_bias},
    ConfigField{"attention_output_bias", &ModelConfig::attention_output_bias},
    ConfigField{"ffn_bias", &ModelConfig::ffn_bias},
    ConfigField{"experts", &ModelConfig::experts},
    ConfigField{"experts_per_token", &ModelConfig::experts_per_token},
    ConfigField{"expert_width", &ModelConfig::expert_width},
    ConfigField{"shared_expert_width", &ModelConfig::shared_expert_width},
    ConfigField{"normalized_experts", &ModelConfig::normalized_experts},
    ConfigField{"expert_scale", &ModelConfig::expert_scale},
    ConfigField{"expert_groups", &ModelConfig::expert_groups},
    ConfigField{"chosen_expert_groups", &ModelConfig::chosen_expert_groups},
    ConfigField{"first_sparse_layer", &ModelConfig::first_sparse_layer},
    ConfigField{"sparse_step", &ModelConfig::sparse_step},
    ConfigField{"dense_layers", &ModelConfig::dense_layers},
    ConfigField{"balance_loss", &ModelConfig::balance_loss},
    ConfigField{"balance_coefficient", &ModelConfig::balance_coefficient},
    ConfigField{"router_noise", &ModelConfig::router_noise},
    ConfigField{"attention_window", &ModelConfig::attention_window},
    ConfigField{"first_window_layer", &ModelConfig::first_window_layer},
};

bool is_used(const ArchitectureDescription& architecture, std::string_view field) {
  if (field == "token_types") return architecture.token_types();
  if (field == "activation") return architecture.uses_activation();
  return true;
}

}  // namespace

std::span<const ConfigField> config_fields() {
  return kFields;
}

const ConfigField* find_config_field(std::string_view name) {
  const auto found = std::ranges::find(kFields, name, &ConfigField::name);
  return found == kFields.end() ? nullptr : &*found;
}

const ConfigField* first_difference(const ModelConfig& one, const ModelConfig& other) {
  for (const ConfigField& field : kFields) {
    const bool equal =
        std::visit([&](const auto member) { return one.*member == other.*member; }, field.member);
    if (!equal && is_used(*one.architecture, field.name)) return &field;
  }
  return nullptr;
}

}  // namespace nadi::inline describe
