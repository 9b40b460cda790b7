// How long a step takes at least if the layers were divided at will among the stages: a bound that needs no
// placement and no partition, for settings that are far from the best.
//
//   SpeedBound speeds(question, estimator);
//   speeds.of(setting, nodes)                                     // nanoseconds
//
// Stages work at their speed in layers per second; all layers of all micro-batches take at least as long as
// all stages together need for them. Embedding, head, messages and what follows the backward passes come on
// top of that.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "nadi/plan/plan_estimate.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_space.h"

namespace nadi {

class SpeedBound {
 public:
  // Both must outlive this.
  SpeedBound(const PlanQuestion& question, PlanEstimator& estimator);

  // `nodes` by kind: those that may be used. 0 where nothing is known.
  std::int64_t of(const PlanSetting& setting, std::span<const std::int32_t> nodes);

 private:
  // All that the time of a layer depends on, besides the device.
  using Key =
      std::tuple<std::int64_t, std::int64_t, bool, Recompute::Granularity, Recompute::Method, std::int32_t>;
  // Nanoseconds of a layer, forward and backward, for one micro-batch; by kind of node.
  const std::vector<double>& layer_times(const PlanSetting& setting);
  double layer_time(const PlanSetting& setting, std::int32_t kind);

  const PlanQuestion& question_;
  PlanEstimator& estimator_;
  std::map<Key, std::vector<double>> known_;
};

}  // namespace nadi
