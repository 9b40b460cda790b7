#include "nadi/sim/network_model.h"

#include <algorithm>

#include "nadi/trace/collective_table.h"

namespace nadi {

class NetworkModel::State {
 public:
  explicit State(const Cluster& described) : cluster(described) {}

  const Fabric& between(DeviceId a, DeviceId b) const {
    const std::int32_t node = cluster.node_of(a);
    if (node == cluster.node_of(b)) return cluster.node(node).inside;
    return cluster.levels.front().fabric;
  }

  const Cluster& cluster;
};

NetworkModel::NetworkModel(const Cluster& cluster, const NetworkOptions& options)
    : state_(std::make_unique<State>(cluster)) {
  static_cast<void>(options);
}
NetworkModel::~NetworkModel() = default;

Nanoseconds NetworkModel::message(Bytes size, DeviceId from, DeviceId to, std::int32_t sharing) const {
  const Fabric& fabric = state_->between(from, to);
  return fabric.latency + time_for(size, fabric.bandwidth * (fabric.efficiency / sharing));
}

// A ring through the members in their order: each step as slow as its slowest neighbours.
Nanoseconds NetworkModel::collective(const CollectiveRequest& request) const {
  const std::int64_t members = static_cast<std::int64_t>(request.members.size());
  if (members < 2) return {};
  const CollectiveFacts& facts = collective_facts(request.type);
  const std::int64_t steps = (members - 1) * std::max(facts.bus_passes, 1);
  const Bytes part{facts.sized_by_result ? request.size.count()
                                         : (request.size.count() + members - 1) / members};
  Nanoseconds slowest{};
  for (std::size_t i = 0; i < request.members.size(); ++i)
    slowest = std::max(slowest, message(part, request.members[i],
                                        request.members[(i + 1) % request.members.size()], request.sharing));
  return slowest * steps;
}

}  // namespace nadi
