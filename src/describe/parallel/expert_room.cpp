#include "nadi/parallel/expert_room.h"

#include <algorithm>
#include <cmath>

#include "nadi/model/model_config.h"

namespace nadi::inline describe {

std::int64_t rows_room(const ModelConfig& config, const Plan& plan, const ExpertOptions& options,
                       const PlacedChoices& placed) {
  // Every rank sends each of the experts here as many rows as it takes.
  if (options.capacity_factor > 0)
    return config.experts * expert_capacity(placed.choices, config.experts, options.capacity_factor);
  const std::int64_t per_sequence = placed.choices / placed.sequences;
  const std::int64_t own = config.experts / plan.ep, chosen = config.experts_per_token;
  const std::int64_t worst = plan.ep * per_sequence / chosen * std::min(own, chosen);
  const double factor = options.rank_capacity_factor > 0 ? options.rank_capacity_factor : kMostRankCapacity;
  const auto asked = static_cast<std::int64_t>(std::ceil(static_cast<double>(per_sequence) * factor));
  return placed.sequences * std::min(worst, asked);
}

}  // namespace nadi::inline describe
