// Which device each rank runs on, and how much slower ranks were asked to be.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

// By rank. Throws Error: infeasible where there are more ranks than devices; usage for a placement that is
// not one device for each rank.
std::vector<DeviceId> placement_of(std::int64_t ranks, const Cluster& cluster,
                                   const SimulationOptions& options);

// By rank. Throws Error (usage) for a rank that is not there and for a factor that is not above 0.
std::vector<double> slow_factors(std::int64_t ranks, const SimulationOptions& options);

}  // namespace nadi::inline predict
