// Where a rank stands in a plan: its coordinates, its layers and whom it communicates with.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"

namespace nadi {

struct RankGroup {
  GroupKind kind;
  std::vector<Rank> members = {};  // ascending
};

struct RankPlace {
  Rank rank{};
  Coordinates at;
  std::vector<std::int64_t> layers = {};  // numbers of the transformer layers that it has, ascending
  // All kinds, groups of one included; that of tied embeddings only where the rank is in it.
  std::vector<RankGroup> groups = {};
};

// The rank is one of the plan's, and the plan fits the model.
RankPlace place_of(const ModelConfig& config, const Plan& plan, Rank rank);

}  // namespace nadi
