// The experts that Megatron's flags describe (--num-experts, --moe-layer-freq, ...).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/model/model_config.h"

namespace nadi::inline show {

class Flags;

// Those that only a model with experts can have.
std::vector<std::string_view> expert_model_flags();

// Fills the fields of experts and chooses the architecture that has such; layers, ffn_width and biases are known. Does nothing without
// --num-experts. Error (usage) for what no architecture has.
void read_expert_model(const Flags& flags, ModelConfig& config);

// For a model that was named: Error (usage) for a flag that contradicts it.
void check_expert_model(const Flags& flags, const ModelConfig& config);

// Which layers have experts: "2" means every second one from the first on; "([0]*3+[1]*58)" is a list in Python's words. Error (usage).
std::vector<bool> parse_layer_pattern(const std::string& text, std::int64_t layers);

}  // namespace nadi::inline show
