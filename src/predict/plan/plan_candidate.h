// One plan with all that a search decides: the plan itself, the micro-batch, what is recomputed, and which
// nodes of the cluster its ranks fill in which order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/graph/gradient.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"
#include "nadi/plan/plan_question.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

// Nodes of one kind that follow one another. Ranks fill the runs of a plan in order, `devices` of each node.
struct NodeRun {
  std::int32_t kind = 0;  // index into Cluster::kinds
  std::int32_t count = 0;
  std::int32_t devices = 0;

  bool operator==(const NodeRun&) const = default;
};

struct PlanCandidate {
  Plan plan;  // micro_batches and partition are filled in
  std::int64_t micro_batch_size = 1;
  Recompute recompute = {};
  std::vector<NodeRun> nodes;
};

// The step of a data-parallel rank under this candidate.
StepRequest request_of(const PlanQuestion& question, const PlanCandidate& candidate);

// All nodes of a cluster in their own order, with all of their devices.
std::vector<NodeRun> nodes_in_order(const Cluster& cluster);

// By rank. Nodes of a kind are taken in ascending order of their numbers. Runs that want more nodes than
// there are, or devices than a node has, are a bug of the caller.
std::vector<DeviceId> devices_of(const Cluster& cluster, std::span<const NodeRun> nodes);

// The candidate in the discrete-event simulator: its programs are built, placed and replayed. The oracle of estimates,
// and what the best candidates of a search are ranked by in the end.
SimulationResult simulate_plan(const PlanQuestion& question, const PlanCandidate& candidate,
                               bool keep_times = false);

// Price of the nodes that are used, whole nodes each; nullopt where one has none.
std::optional<double> dollars_per_hour(const Cluster& cluster, std::span<const NodeRun> nodes);

}  // namespace nadi::inline predict
