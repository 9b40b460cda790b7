// The links of a cluster, each in one direction, and which of them lead from one device to another.
//
//   const NetworkTopology network(cluster, faults);
//   const NetworkPath path = network.path(DeviceId{0}, DeviceId{9});
//   path.latency;                                              // of all links together
//   for (LinkId link : path.links) network.link(link).bandwidth;
//
// What stands for a fabric (cluster/cluster.h):
//   switch   a link up and a link down per member, half of the latency each: no member gets in the way of
//   others mesh     a link from each member to each other, each with its part of the member's bandwidth ring
//   a link to each neighbour with half of the bandwidth and all of the latency; the shorter way round
//            (ties: towards higher numbers); two members have one link each way, with all of the bandwidth
//   bus      one link that everybody uses in both directions
// Devices of different nodes talk over the links of their nodes (level 1), groups of nodes over those of the
// groups as well; the fabric inside a node has no part in that. Where each device has its own card
// (Fabric::device_bandwidth), the card is a link, too. Latencies of the levels above the nodes add up.
//
// Names: `device5` and `node3` are links of a member of a switch, both directions; `device5.up`, `node3.down`
// one of them; `device0-device1` and `node2-node3` links of a mesh or a ring, both directions; `node2.bus`
// the bus inside node 2; `device5.card` the card of a device, also with .up and .down; `level2.4` the fifth
// group of nodes (a member of level 2). A failed link of a ring is passed the other way round, one of a mesh
// through the first other member that has links to both ends; otherwise devices cannot reach each other any
// more.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/rates.h"
#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/sim/network_fault.h"

namespace nadi::inline predict {

enum class LinkId : std::int32_t {};
constexpr std::size_t to_index(LinkId id) {
  return static_cast<std::size_t>(id);
}

struct NetworkLink {
  ByteRate bandwidth;  // what a transport reaches of it; 0 means failed
  Nanoseconds latency;
  std::int32_t level = 0;
  bool shared = false;             // by the devices of a node or a group, or by all: not one device's own
  const Fabric* fabric = nullptr;  // what it is a part of; of the slower end, where the ends differ
};

struct NetworkPath {
  std::vector<LinkId> links;  // empty means a device to itself
  Nanoseconds latency;
};

class NetworkTopology {
 public:
  // Throws Error (usage) for a fault of a link that is not there.
  explicit NetworkTopology(const Cluster& cluster, std::span<const LinkFault> faults = {});
  NetworkTopology(const NetworkTopology&) = delete;
  NetworkTopology& operator=(const NetworkTopology&) = delete;

  std::int32_t device_count() const { return static_cast<std::int32_t>(node_.size()); }
  std::int32_t node_of(DeviceId device) const;
  DeviceId first_device(std::int32_t node) const {
    return DeviceId{first_device_[static_cast<std::size_t>(node)]};
  }
  const Cluster& cluster() const { return cluster_; }

  std::int32_t link_count() const { return static_cast<std::int32_t>(links_.size()); }
  const NetworkLink& link(LinkId id) const { return links_[to_index(id)]; }
  std::string link_name(LinkId id) const;

  // Throws Error (infeasible) naming both devices where no way is left, or where there never was one.
  NetworkPath path(DeviceId from, DeviceId to) const;
  void path(DeviceId from, DeviceId to, NetworkPath& result) const;  // the same without new memory

  // Bytes per second of the slowest link of a path.
  ByteRate bandwidth(const NetworkPath& path) const;
  // The fabric that is the highest on the way: of a device's node, or of the level where the two nodes meet.
  const Fabric& fabric_between(DeviceId a, DeviceId b) const;

 private:
  // The members of one fabric: devices of a node, nodes of a group, groups of a group.
  struct Group {
    const Fabric* fabric = nullptr;
    std::int32_t first = 0, members = 0;
    std::int32_t first_link = 0;
  };

  const Fabric& port(std::int32_t level, std::int32_t unit) const;
  void add_group(std::int32_t level, std::int32_t first, std::int32_t members, const Fabric& fabric);
  void add_cards();
  void apply(const LinkFault& fault);
  std::vector<LinkId> links_named(std::string_view name) const;
  std::int32_t group_of(std::int32_t level, std::int32_t unit) const;
  bool alive(std::int32_t link) const {
    return links_[static_cast<std::size_t>(link)].bandwidth.per_second() > 0;
  }
  bool cross(std::int32_t level, std::int32_t from, std::int32_t to, NetworkPath& result) const;
  void take(std::int32_t link, NetworkPath& result) const;
  std::string unit_name(std::int32_t level, std::int32_t unit) const;
  [[noreturn]] void throw_unreachable(DeviceId from, DeviceId to, std::string_view why) const;

  Cluster cluster_;
  std::vector<std::int32_t> node_;          // of each device
  std::vector<std::int32_t> first_device_;  // of each node
  std::vector<std::vector<Group>> groups_;  // by level
  std::vector<std::int32_t> units_;         // how many members a level has altogether
  std::vector<std::int32_t> card_;          // of each device: its link up, then down; -1 means none
  std::vector<NetworkLink> links_;
};

}  // namespace nadi::inline predict
