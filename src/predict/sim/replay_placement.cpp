#include "nadi/sim/replay_placement.h"

#include <set>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline predict {

std::vector<DeviceId> placement_of(std::int64_t ranks, const Cluster& cluster,
                                   const SimulationOptions& options) {
  const std::int32_t devices = cluster.device_count();
  if (ranks > devices)
    throw Error{ErrorKind::kInfeasible,
                {},
                format("the plan needs {} ranks; cluster '{}' has {} devices", ranks, cluster.name, devices)};
  std::vector<DeviceId> placement = options.placement;
  if (placement.empty())
    for (std::int64_t r = 0; r < ranks; ++r) placement.push_back(DeviceId{static_cast<std::int32_t>(r)});
  if (static_cast<std::int64_t>(placement.size()) != ranks)
    throw usage_error(format("the placement has {} ranks; the plan has {}", placement.size(), ranks));
  std::set<DeviceId> used;
  for (const DeviceId device : placement) {
    if (to_number(device) < 0 || to_number(device) >= devices)
      throw usage_error(
          format("the placement names device {}; the cluster has {}", to_number(device), devices));
    if (!used.insert(device).second)
      throw usage_error(format("the placement has two ranks on device {}", to_number(device)));
  }
  return placement;
}

std::vector<double> slow_factors(std::int64_t ranks, const SimulationOptions& options) {
  std::vector<double> factors(static_cast<std::size_t>(ranks), 1.0);
  for (const SlowRank& slow : options.slow) {
    if (to_number(slow.rank) < 0 || to_number(slow.rank) >= ranks)
      throw usage_error(
          format("rank {} is to be slow; there are ranks 0 to {}", to_number(slow.rank), ranks - 1));
    if (!(slow.factor > 0))
      throw usage_error(format("rank {} cannot take {} times as long", to_number(slow.rank), slow.factor));
    factors[static_cast<std::size_t>(to_number(slow.rank))] *= slow.factor;
  }
  return factors;
}

}  // namespace nadi::inline predict
