// The place of a rank in a plan: its coordinates, its layers, and the ranks that it communicates with.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

struct RankGroup {
  GroupKind kind;
  std::vector<Rank> members = {};  // ascending
};

struct RankPlace {
  Rank rank{};
  Coordinates at;
  std::vector<std::int64_t> layers = {};  // numbers of the transformer layers that it has, ascending
  // One group of each kind, including groups of one rank; the embedding group only if the rank is a member.
  std::vector<RankGroup> groups = {};
};

// The rank is one of the plan's, and the plan fits the model.
RankPlace place_of(const ModelConfig& config, const Plan& plan, Rank rank);

}  // namespace nadi::inline describe
