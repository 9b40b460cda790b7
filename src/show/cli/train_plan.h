// How a run is split over its ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline show {

class Flags;
struct PlannedFlags;

// --num-ranks, or 1.
std::int64_t ranks_to_start(const Flags& flags);
// The same where a file may have the plan.
std::int64_t wanted_ranks(const PlannedFlags& planned);

// The flags' plan for as many ranks as there are; --dp follows from them when it is not given. Error (usage)
// with the numbers when the plan and the ranks do not fit.
Plan resolve_train_plan(const Flags& flags, const ModelConfig& config, std::int64_t ranks,
                        std::vector<std::string>& notes);

}  // namespace nadi::inline show
