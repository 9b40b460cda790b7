// The times of a plan's or a trace's communication on the network of a cluster, each asked for once.
//
//   ReplayNetwork network(cluster, {.algorithm = algorithm}, placement);
//   const std::uint32_t group = network.add_group(tag, members);
//   network.settle();                                             // all groups are known
//   network.collective(group, type, size);
//
// Groups of one kind are taken to communicate at the same time, as data-parallel groups of the tensor-
// parallel ranks of a node do: those that leave a node share what the node has.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/sim/network_model.h"
#include "nadi/sim/replay_classes.h"

namespace nadi {

class ReplayNetwork {
 public:
  // `placement` by rank. The cluster must outlive it.
  ReplayNetwork(const Cluster& cluster, const NetworkOptions& options, std::span<const DeviceId> placement);

  std::uint32_t add_group(std::uint32_t tag, std::vector<std::uint32_t> members);
  void settle();

  std::span<const ReplayGroup> groups() const { return groups_; }
  std::int32_t node_of(std::uint32_t rank) const { return node_of_rank_[rank]; }

  Nanoseconds collective(std::uint32_t group, CollectiveType type, Bytes size);
  // `sharing`: how many ranks of the sender's node send like this at the same time.
  Nanoseconds message(std::uint32_t from, std::uint32_t to, Bytes size, std::int32_t sharing);

 private:
  NetworkModel model_;
  const Cluster& cluster_;
  std::vector<DeviceId> placement_;
  std::vector<std::int32_t> node_of_rank_;
  std::vector<ReplayGroup> groups_;
  std::vector<std::int32_t> sharing_;  // by group
  std::map<std::tuple<std::uint32_t, CollectiveType, std::int64_t>, Nanoseconds> collectives_;
  std::map<std::tuple<DeviceId, DeviceId, std::int64_t, std::int32_t>, Nanoseconds> messages_;
};

}  // namespace nadi
