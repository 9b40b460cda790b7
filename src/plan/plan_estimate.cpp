#include "nadi/plan/plan_estimate.h"

#include <algorithm>

#include "nadi/plan/plan_confirmation.h"

namespace nadi {

class PlanEstimator::State {
 public:
  explicit State(const PlanQuestion& question) : question_(question) {}

  PlanEstimate of(const PlanCandidate& candidate) const {
    const SimulationResult result = simulate_plan(question_, candidate);
    PlanEstimate estimate{.iteration = result.iteration_time};
    estimate.stages.resize(static_cast<std::size_t>(candidate.plan.pp));
    for (const SimulatedClass& ranks : result.classes) {
      StageEstimate& stage = estimate.stages[static_cast<std::size_t>(ranks.source)];
      const DeviceSpec& device = question_.cluster.device(ranks.device);
      stage.device = static_cast<std::int32_t>(&device - question_.cluster.devices.data());
      stage.memory = std::max(stage.memory, ranks.memory.reserved);
      stage.capacity = ranks.memory.capacity;
      estimate.missing_memory =
          std::max(estimate.missing_memory,
                   Bytes(std::max<std::int64_t>(0, ranks.memory.reserved.count() - stage.capacity.count())));
    }
    if (const auto hourly = dollars_per_hour(question_.cluster, candidate.nodes))
      estimate.dollars_per_step = *hourly / 3600 * static_cast<double>(estimate.iteration.count()) * 1e-9;
    return estimate;
  }

 private:
  const PlanQuestion& question_;
};

PlanEstimator::PlanEstimator(const PlanQuestion& question) : state_(std::make_unique<State>(question)) {}
PlanEstimator::~PlanEstimator() = default;

PlanEstimate PlanEstimator::of(const PlanCandidate& candidate) {
  return state_->of(candidate);
}

}  // namespace nadi
