// The times of a plan's or a trace's communication on the network of a cluster, each asked for once, and what
// it puts on the links.
//
//   ReplayNetwork network(cluster, {.algorithm = algorithm}, placement);
//   const std::uint32_t group = network.add_group(tag, members);
//   const std::uint32_t message = network.add_message(from, to);
//   network.settle();                                             // all groups and messages are known
//   network.collective(group, type, size);
//
// Groups whose members lie alike (ranks 0, 8, 16 and ranks 1, 9, 17) are taken to communicate at the same
// time, as data-parallel groups of the tensor-parallel ranks of a node do, and so are messages over the same
// distance: they share the links that they have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/sim/network_model.h"
#include "nadi/sim/replay_classes.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

class ReplayNetwork {
 public:
  // `placement` by rank; `by_link`: links() is wanted. The cluster must outlive it.
  ReplayNetwork(const Cluster& cluster, const NetworkOptions& options, std::span<const DeviceId> placement,
                bool by_link = false);

  std::uint32_t add_group(std::uint32_t tag, std::vector<std::uint32_t> members);
  std::uint32_t add_message(std::uint32_t from, std::uint32_t to);
  void settle();

  std::span<const ReplayGroup> groups() const { return groups_; }
  std::int32_t node_of(std::uint32_t rank) const { return node_of_rank_[rank]; }
  DeviceId device_of(std::uint32_t rank) const { return placement_[rank]; }

  Nanoseconds collective(std::uint32_t group, CollectiveType type, Bytes size);
  Nanoseconds message(std::uint32_t message, Bytes size);

  // What communication put on the network, so many times.
  void count_collective(std::uint32_t group, CollectiveType type, Bytes size, std::int64_t times);
  void count_message(std::uint32_t message, Bytes size, std::int64_t times);
  // By level, innermost first; levels without traffic too.
  std::vector<LevelTraffic> traffic() const;
  // By link, as SimulationResult::links.
  std::vector<LinkTraffic> links() const;

 private:
  struct Message {
    std::uint32_t from = 0, to = 0;
    std::int32_t sharing = 1;
  };
  std::vector<DeviceId> devices_of(const ReplayGroup& group) const;

  NetworkModel model_;
  const Cluster& cluster_;
  std::vector<DeviceId> placement_;
  std::vector<std::int32_t> node_of_rank_;
  std::vector<ReplayGroup> groups_;
  std::vector<std::int32_t> sharing_;  // by group
  std::vector<GroupId> shapes_;        // by group
  std::vector<Message> messages_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> message_numbers_;
  // Bytes by shape of a group, collective and size; a group that has the shape, and how often.
  std::map<std::tuple<GroupId, CollectiveType, std::int64_t>, std::pair<std::uint32_t, std::int64_t>>
      counted_;
  // Where traffic is wanted by link: how often a group does a collective.
  std::map<std::tuple<std::uint32_t, CollectiveType, std::int64_t>, std::int64_t> counted_by_group_;
  bool by_link_ = false;
  std::vector<double> on_links_;  // of messages, by link
};

}  // namespace nadi::inline predict
