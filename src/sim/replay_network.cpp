#include "nadi/sim/replay_network.h"

#include <algorithm>
#include <set>
#include <utility>

namespace nadi {

ReplayNetwork::ReplayNetwork(const Cluster& cluster, const NetworkOptions& options,
                             std::span<const DeviceId> placement)
    : model_(cluster, options), cluster_(cluster), placement_(placement.begin(), placement.end()) {
  std::vector<std::int32_t> node_of_device;
  for (std::int32_t node = 0; node < static_cast<std::int32_t>(cluster.nodes.size()); ++node)
    node_of_device.insert(node_of_device.end(), static_cast<std::size_t>(cluster.node(node).devices), node);
  for (const DeviceId device : placement_)
    node_of_rank_.push_back(node_of_device[static_cast<std::size_t>(to_number(device))]);
}

std::uint32_t ReplayNetwork::add_group(std::uint32_t tag, std::vector<std::uint32_t> members) {
  groups_.push_back({.tag = tag, .members = std::move(members)});
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

void ReplayNetwork::settle() {
  // By kind of group and node: how many of its groups lead out of the node.
  std::map<std::pair<std::uint32_t, std::int32_t>, std::int32_t> leaving;
  std::vector<std::set<std::int32_t>> nodes_of(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const std::uint32_t member : groups_[g].members) nodes_of[g].insert(node_of_rank_[member]);
    if (nodes_of[g].size() > 1)
      for (const std::int32_t node : nodes_of[g]) ++leaving[{groups_[g].tag, node}];
  }
  sharing_.assign(groups_.size(), 1);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (nodes_of[g].size() > 1)
      for (const std::int32_t node : nodes_of[g])
        sharing_[g] = std::max(sharing_[g], leaving[{groups_[g].tag, node}]);
}

Nanoseconds ReplayNetwork::collective(std::uint32_t group, CollectiveType type, Bytes size) {
  const auto [entry, fresh] = collectives_.try_emplace({group, type, size.count()});
  if (fresh) {
    std::vector<DeviceId> members;
    for (const std::uint32_t member : groups_[group].members) members.push_back(placement_[member]);
    entry->second =
        model_.collective({.type = type, .size = size, .members = members, .sharing = sharing_[group]});
  }
  return entry->second;
}

Nanoseconds ReplayNetwork::message(std::uint32_t from, std::uint32_t to, Bytes size, std::int32_t sharing) {
  const auto [entry, fresh] =
      messages_.try_emplace({placement_[from], placement_[to], size.count(), sharing});
  if (fresh) entry->second = model_.message(size, placement_[from], placement_[to], sharing);
  return entry->second;
}

}  // namespace nadi
