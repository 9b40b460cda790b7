// How many layers the stages of a setting have room for in memory, by what they are made of: known before any
// time is, so that settings which fit nowhere cost little.
//
//   const StageRoom room = stage_room(question, estimator, {.setting = setting, .makes = makes});
//   if (!room.holds(question.config.layers)) ...
//   room.most_layers[stage * makes + make]
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/plan/placement_orders.h"
#include "nadi/plan/plan_estimate.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_space.h"

namespace nadi::inline predict {

struct StageRoom {
  std::int64_t makes = 0;
  std::vector<std::int64_t> most_layers = {};  // by stage and make; below 0 means not even none fit

  // Whether all layers have a place if every stage were of the make with the most room.
  bool holds(std::int64_t layers) const;
};

struct StageRoomRequest {
  const PlanSetting& setting;
  const StageMakes& makes;
  std::optional<Bytes> memory = {};          // on every device, besides what it has
  std::span<const std::int64_t> given = {};  // layers by virtual stage, where they are no matter of choice
};
// With several virtual stages, layers are spread over chunks (spread_over_chunks), or as they are given.
StageRoom stage_room(const PlanQuestion& question, PlanEstimator& estimator, const StageRoomRequest& request);

}  // namespace nadi::inline predict
