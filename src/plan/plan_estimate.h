// How long a step takes under a plan and how much memory each stage needs, without building graphs: what a
// search asks tens of thousands of times.
//
//   PlanEstimator estimator(question);
//   const PlanEstimate estimate = estimator.of(candidate);
//   estimate.iteration, estimate.stages[3].memory
//
// The model is the simulator's (sim/): the same device model, network model, layer times and overlap, put
// together per stage instead of per op. simulate_plan() (plan_confirmation.h) is the oracle. Memory equals
// what PlanCosts (parallel/) says, and so the built program's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/plan/plan_candidate.h"
#include "nadi/plan/plan_question.h"

namespace nadi {

struct StageEstimate {
  std::int64_t layers = 0;
  std::int32_t device = 0;                  // kind of its slowest device: index into Cluster::devices
  Nanoseconds forward = {}, backward = {};  // of one micro-batch in all chunks, with what it waits for within
  Nanoseconds send = {};             // of activations to the next stage; of gradients back it takes as long
  Nanoseconds reduction = {};        // of gradients over data-parallel ranks, as far as it is not hidden
  Nanoseconds update = {};           // optimizer
  Bytes memory = {}, capacity = {};  // of its fullest device
};

struct PlanEstimate {
  Nanoseconds iteration = {};
  // Parts of it, as the slowest rank has them.
  Nanoseconds pipeline = {}, embedding_reduction = {}, data_reduction = {}, update = {};
  std::vector<StageEstimate> stages = {};
  std::optional<double> dollars_per_step = {};  // of the nodes that are used; nullopt: a price is missing

  // Memory beyond what the fullest stage has, with limits.memory_share; 0: it fits.
  Bytes missing_memory = {};
  bool fits() const { return missing_memory.count() == 0; }
};

class PlanEstimator {
 public:
  // The question must outlive this. Not thread-safe: one per thread.
  explicit PlanEstimator(const PlanQuestion& question);
  ~PlanEstimator();

  // The plan fits the model: why_infeasible() has nothing against it.
  PlanEstimate of(const PlanCandidate& candidate);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi
