#pragma once

#include <cstdint>

namespace nadi::inline describe {

struct ModelConfig;

// Numbers that are trained in the whole model, however it is split; tied ones count once.
std::int64_t model_parameters(const ModelConfig& config);

// Those that one token meets: of experts, the ones that it is routed to.
std::int64_t active_parameters(const ModelConfig& config);

}  // namespace nadi::inline describe
