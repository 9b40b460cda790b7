// How long communication takes on the network of a cluster when nothing unknown gets in its way: closed forms
// per algorithm and level (`analytical`). flow_network.h has the version that shares links among whatever is
// under way at the same time.
//
//   const NetworkModel network(cluster, {});
//   network.collective({.type = CollectiveType::kAllReduce, .size = size, .members = members});
//   network.message(size, from, to);
//
// `size` of a collective is that of the member's own input, as in traces (comm_size); of a scatter and a
// broadcast that of the root. The first member is the root. What each algorithm takes: network_schedule.h;
// how that becomes time on the links: network_form.h.
//
// Who asks often, asks once for the group: groups of the same shape (as many members in as many nodes of the
// same kinds, at the same places) have the same number and share what was worked out for it.
//
//   const GroupId group = network.group_of(members);
//   network.collective(CollectiveType::kAllReduce, size, group, sharing);
//
// kAuto takes the fastest of what NCCL chooses from: rings; double trees for all-reduces over several nodes;
// direct for all-to-all, gather and scatter, and on meshes; each with every protocol of the fabrics.
// Collectives and messages that were measured in a node (Fabric::measured) win over all of that. On a cluster
// of ASTRA-sim's files times are those of that simulator (astra_network.h), unless an algorithm is forced or
// links have failed.
//
// Not thread-safe: answers are remembered.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/sim/network_fault.h"
#include "nadi/sim/network_form.h"
#include "nadi/sim/network_schedule.h"
#include "nadi/sim/network_topology.h"
#include "nadi/trace/node_type.h"

namespace nadi::inline predict {

struct CollectiveRequest {
  CollectiveType type{};
  Bytes size;
  std::span<const DeviceId> members;
  // How many groups like this one are under way at the same time and share the links of their nodes: data-
  // parallel groups of the tensor-parallel ranks of a node, for instance (sharing_of()).
  std::int32_t sharing = 1;
};

struct NetworkOptions {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;
  std::vector<LinkFault> faults = {};
};

struct MessageEnds {
  DeviceId from{}, to{};
};

enum class GroupId : std::int32_t {};

// Which way a collective or a message takes.
struct CollectiveChoice {
  Nanoseconds time;
  CollectiveAlgorithm algorithm{};
  std::string protocol = {};  // "": the fabrics have none
  bool measured = false;      // then the algorithm is that of the closed form that would be next
};

class NetworkModel {
 public:
  // Throws Error (usage) for a fault of a link that the cluster does not have.
  explicit NetworkModel(const Cluster& cluster, const NetworkOptions& options = {});
  ~NetworkModel();

  // Devices that cannot reach each other: Error (infeasible) with both.
  Nanoseconds collective(const CollectiveRequest& request) const;
  Nanoseconds message(Bytes size, DeviceId from, DeviceId to, std::int32_t sharing = 1) const;

  CollectiveChoice message_choice(Bytes size, DeviceId from, DeviceId to, std::int32_t sharing = 1) const;

  GroupId group_of(std::span<const DeviceId> members) const;
  Nanoseconds collective(CollectiveType type, Bytes size, GroupId group, std::int32_t sharing = 1) const;
  CollectiveChoice choice(CollectiveType type, Bytes size, GroupId group, std::int32_t sharing = 1) const;

  // For groups that communicate at the same time, how many use the link that each shares with most others: 1
  // for those that are alone.
  std::vector<std::int32_t> sharing_of(std::span<const std::vector<DeviceId>> groups) const;
  // The same for messages, which use links in one direction only.
  std::vector<std::int32_t> sharing_of(std::span<const MessageEnds> messages) const;

  // Adds the bytes that a collective or a message puts on each link; `bytes` is by link of topology().
  void add_traffic(const CollectiveRequest& request, std::vector<double>& bytes) const;
  void add_traffic(Bytes size, DeviceId from, DeviceId to, std::vector<double>& bytes) const;

  const NetworkTopology& topology() const;
  const NetworkOptions& options() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline predict
