// How long a step takes at least if the layers were divided at will among the stages: a bound that needs no
// placement and no partition, for settings that are far from the best.
//
//   SpeedBound speeds(question, estimator);
//   speeds.of(setting, nodes)                                     // nanoseconds
//
// Stages work at their speed in layers per second. With 1F1B, stage s has all M micro-batches to do after one
// has come to it through the stages before, and back: for each s the step takes at least
//   M x(s) + x(0) + ... + x(s - 1)
// with x the time of a stage. The division for which all of these are equal has the least of them; then
//   step = M L / sum over s of speed(s) (1 - 1/M)^s
// with the fastest stages first. With GPipe the step is one micro-batch through all stages and the others
// through the slowest. With v virtual stages the first chunk of a stage, through which the first micro-batch
// comes to the next one and the last one goes back, has 1/v of its layers or more where they are spread
// evenly: x / v in place of x. Where they may be anywhere, all stages together need time for all layers.
// Embedding, head, messages and what follows the backward passes come on top of that.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "nadi/plan/plan_estimate.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_space.h"

namespace nadi::inline predict {

class SpeedBound {
 public:
  // Both must outlive this.
  SpeedBound(const PlanQuestion& question, PlanEstimator& estimator);

  // `nodes` by kind: those that may be used. 0 where nothing is known.
  std::int64_t of(const PlanSetting& setting, std::span<const std::int32_t> nodes);
  // The least of all settings with these degrees and this micro-batch size.
  std::int64_t of_grid(const PlanSetting& grid, std::span<const std::int32_t> nodes);

 private:
  // All that the time of a layer depends on, besides the device.
  using Key =
      std::tuple<std::int64_t, std::int64_t, bool, Recompute::Granularity, Recompute::Method, std::int32_t>;
  // Nanoseconds of a layer, forward and backward, for one micro-batch; by kind of node.
  const std::vector<double>& layer_times(const PlanSetting& setting);
  double waits_of(const Plan& plan) const;
  double layer_time(const PlanSetting& setting, std::int32_t kind);

  const PlanQuestion& question_;
  PlanEstimator& estimator_;
  std::map<Key, std::vector<double>> known_;
};

}  // namespace nadi::inline predict
