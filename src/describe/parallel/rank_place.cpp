#include "nadi/parallel/rank_place.h"

#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {

RankPlace place_of(const ModelConfig& config, const Plan& plan, Rank rank) {
  RankPlace place{.rank = rank, .at = coordinates_of(plan, rank)};
  const std::vector<std::int64_t> partition = resolved_partition(config, plan);
  std::int64_t layer = 0;
  for (std::size_t chunk = 0; chunk < partition.size(); ++chunk)
    for (std::int64_t i = 0; i < partition[chunk]; ++i, ++layer)
      if (static_cast<std::int64_t>(chunk) % plan.pp == place.at.pp) place.layers.push_back(layer);

  const bool at_an_end = place.at.pp == 0 || place.at.pp == plan.pp - 1;
  for (int kind = 0; kind < kGroupKindCount; ++kind) {
    const auto group = static_cast<GroupKind>(kind);
    if (group >= GroupKind::kExpert && !plan.numbers_experts()) continue;
    const bool is_member =
        group != GroupKind::kEmbedding || (config.tied_embeddings && plan.pp > 1 && at_an_end);
    if (is_member) place.groups.push_back({.kind = group, .members = group_members(plan, group, rank)});
  }
  return place;
}

}  // namespace nadi::inline describe
