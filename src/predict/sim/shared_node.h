// Ranks that share a machine compute faster while the others wait (NodeSpec::alone_speedup): two threads of
// one core, or cores that share caches and memory.
//
//   SimulationResult result = simulate(options);
//   result = with_shared_nodes(result, cluster, options, computation, simulate);
//
// Measured tables have the times of all ranks computing. A rank whose neighbours compute during a share b of
// its own computation takes b + (1 - b) / alone_speedup of these times. That share follows from the
// simulation, and changes it: a few rounds of both, which converge, since each round changes times by less.
#pragma once

#include <functional>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

// When a rank computed, in any order.
using ComputationOf = std::function<std::vector<NodeTime>(const SimulationResult&, Rank)>;
using Simulate = std::function<SimulationResult(const SimulationOptions&)>;

bool has_shared_nodes(const Cluster& cluster);

// Returns `first`, the result with these options, where no node with such a figure has several ranks.
SimulationResult with_shared_nodes(SimulationResult first, const Cluster& cluster,
                                   const SimulationOptions& options, const ComputationOf& computation,
                                   const Simulate& simulate);

}  // namespace nadi::inline predict
