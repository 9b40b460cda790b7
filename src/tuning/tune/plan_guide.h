// What the planner knows about a space of plans: which of its points cannot run on the cluster, how long a
// step takes under the others, and in which order they are worth a trial.
//
//   const PlanGuide guide(question, points, {.gpus = 16});
//   if (const auto why = guide.refusal(point)) ...          // "4.2 GiB do not fit ..."
//   const auto first = guide.ranked();                      // points, the planner's best plan first
//
// Which parameter is which part of a plan is said by the space (TuneSpace::plan). Data parallelism is what
// the GPUs leave: gpus / (tp pp cp). Layers are spread evenly over stages where the space does not say
// otherwise. Times are estimates
// (plan/plan_estimate.h); the best of them are simulated (plan/plan_candidate.h) and ranked by that.
//
// Plans with context parallelism are checked against the model, but neither estimated nor refused for memory:
// the planner does not model it.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/plan/plan_candidate.h"
#include "nadi/plan/plan_question.h"
#include "nadi/tune/space_points.h"

namespace nadi::inline tuning {

struct GuideOptions {
  std::int64_t gpus = 0;        // 0 means all of the cluster
  std::int64_t simulated = 10;  // of the best by estimate
  std::int64_t most_points = 200'000;
};

// How far ranked() has come: plans that were looked at, then the best of them that were simulated.
struct GuideProgress {
  bool simulates = false;
  std::int64_t done = 0;
  std::int64_t total = 0;  // 0 while that is not known
};

// The value of a space for the layers of each stage: kEvenPartition, or "12-12-8".
std::string partition_value(const std::vector<std::int64_t>& layers);

class PlanGuide {
 public:
  // Both must outlive it. Error (usage) where the space does not say which parameters are the plan's, or the
  // cluster has fewer GPUs.
  PlanGuide(const PlanQuestion& question, const SpacePoints& points, const GuideOptions& options = {});
  ~PlanGuide();

  // Why the point cannot run; nothing when it can, as far as is known.
  std::optional<std::string> refusal(std::span<const double> point) const;
  // Time of a step, by estimate; nothing for a point that is refused or not modelled.
  std::optional<double> predicted_seconds(std::span<const double> point) const;

  // Best first: each plan once, with all parameters that are not the plan's at their defaults. Of a range
  // with many values eight are looked at. Error (infeasible) when no plan fits.
  // `progress` is called often, and may throw to stop.
  std::vector<std::vector<double>> ranked(
      const std::function<void(const GuideProgress&)>& progress = {}) const;
  // How many plans ranked() looked at, and how many of them do not fit.
  std::int64_t looked_at() const { return looked_at_; }
  std::int64_t refused() const { return refused_; }

  // The plan of a file as a point: Error (usage) when the space does not have it.
  std::vector<double> point_of_plan(const Plan& plan, std::int64_t micro_batch_size,
                                    const Recompute& recompute) const;

 private:
  struct Known;
  class State;
  const Known& known(std::span<const double> point) const;
  // All points with `point` as their beginning that the space allows.
  void visit_plans(std::vector<double>& point,
                   const std::function<void(const std::vector<double>&)>& visit) const;
  std::optional<PlanCandidate> candidate(std::span<const double> point, std::string& why) const;

  const PlanQuestion& question_;
  const SpacePoints& points_;
  GuideOptions options_;
  std::vector<NodeRun> nodes_;
  std::vector<std::size_t> plan_parameters_;  // indices into the space
  std::unique_ptr<State> state_;
  mutable std::int64_t looked_at_ = 0, refused_ = 0;
};

}  // namespace nadi::inline tuning
