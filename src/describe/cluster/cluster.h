// A cluster: devices in nodes, nodes in groups, and the fabrics that connect them. Everything may differ from
// node to node.
//
//   const Cluster cluster = read_cluster("cluster.json");      // cluster_file.h; or a name of the catalogue
//   cluster.device_count();                                    // 32
//   const DeviceSpec& device = cluster.device(DeviceId{7});
//
// Devices are numbered node by node. Which rank runs on which device is a placement (sim/), rank r on device
// r unless said otherwise.
//
// The network is a hierarchy. Level 0 is the fabric inside a node, level 1 connects the nodes of a group,
// level 2 groups of groups, and so on; most clusters have two. `bandwidth` of a fabric is what one member has
// in each direction: of level 0 a device, of level 1 a node (all its network cards together), of level 2 a
// group. So devices of one node that talk to other nodes at the same time share what their node has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/rates.h"
#include "nadi/base/units.h"
#include "nadi/cluster/astra_collectives.h"
#include "nadi/cluster/device.h"
#include "nadi/cluster/measured_collectives.h"

namespace nadi::inline describe {

enum class DeviceId : std::int32_t {};
constexpr std::int32_t to_number(DeviceId id) {
  return static_cast<std::int32_t>(id);
}

enum class FabricTopology : std::uint8_t {
  kSwitch,  // every member has one port to a switch that never is the bottleneck (NVSwitch, fat tree)
  kMesh,    // a link between each two members, which share the member's bandwidth
  kRing,    // a link to each of two neighbours, half of the bandwidth each
  kBus,     // one medium that all members share (PCIe root, shared memory)
};
std::string_view to_string(FabricTopology topology);  // "switch", "mesh", "ring", "bus"

// One way in which a transport moves data over a fabric, as NCCL's LL, LL128 and Simple: less delay for less
// bandwidth. A collective takes the protocol with which it is done first.
struct FabricProtocol {
  std::string name;           // the same protocol has the same name in all fabrics: "ll", "ll128", "simple"
  Nanoseconds overhead = {};  // once per collective
  Nanoseconds step = {};      // per step, on top of the fabric's latency
  double share = 1;           // of the bandwidth

  bool operator==(const FabricProtocol&) const = default;
};

struct Fabric {
  std::string kind;  // "nvlink", "nvswitch", "pcie", "infiniband", "ethernet", "memory"
  FabricTopology topology = FabricTopology::kSwitch;
  ByteRate bandwidth = {};   // of one member, in each direction; kBus: of the medium
  Nanoseconds latency = {};  // from one member to another; kRing: to a neighbour
  // What a transport reaches of the bandwidth with large messages.
  double efficiency = 1;
  // How much of a device's computation communication over this fabric takes away while it is under way: 0
  // where the network moves data by itself, towards 1 where the cores that compute also copy and sum.
  double compute_share = 0;
  // How many times as long communication takes while the devices compute, for the same reason.
  double busy_slowdown = 1;
  MeasuredCollectives measured = {};  // among the members; empty means none
  // Above the nodes: what one device has of its node's bandwidth, where each has its own card; 0 means all of it.
  ByteRate device_bandwidth = {};
  // Each pass of a collective (an all-reduce has two) moves the whole buffer once through the memory of the
  // device, at this rate, besides what the wire takes; 0 means that is hidden.
  ByteRate local_bandwidth = {};
  std::vector<FabricProtocol> protocols =
      {};  // empty means one, without overheads, with all of the bandwidth

  bool operator==(const Fabric&) const = default;
};

struct NodeSpec {
  std::string name;         // of the kind: "dgx-h100"
  std::int32_t device = 0;  // index into Cluster::devices
  std::int32_t devices = 1;
  Fabric inside;
  std::optional<Fabric> outside = {};         // its own network cards, where they differ from the level's
  std::optional<double> price_per_hour = {};  // of the whole node; else that of its devices
  // The same machine divided among other numbers of ranks: kinds, each with as many devices as ranks. A CPU
  // that two ranks share is two slower devices (Cluster::for_ranks()).
  std::vector<std::int32_t> alternatives = {};
  // How many times as fast a device computes while the others of its node wait: cores that share arithmetic
  // units, caches and memory. Measured tables of ops are those of all devices computing.
  double alone_speedup = 1;
};

struct ClusterLevel {
  std::string name;          // "nodes", "racks"
  std::int32_t members = 0;  // how many of the level below one group has; the last level has all
  Fabric fabric;
};

struct Cluster {
  std::string name;
  std::string summary;
  std::vector<DeviceSpec> devices;   // kinds
  std::vector<NodeSpec> kinds;       // of nodes
  std::vector<std::int32_t> nodes;   // kind of each node
  std::vector<ClusterLevel> levels;  // above the nodes, innermost first; empty means a single node
  std::vector<FigureSource> sources = {};
  // The attention of the programs that run there, "fused" or "unfused"; "": not said.
  std::string attention = {};
  // How collectives and messages are carried out where the cluster is one of ASTRA-sim's.
  std::optional<AstraCollectives> astra = {};

  std::int32_t device_count() const;
  // Without a search where all kinds of nodes have as many devices; else a walk over the nodes:
  // NetworkTopology (sim/) has a table for callers who ask often.
  std::int32_t node_of(DeviceId device) const;
  const NodeSpec& node(std::int32_t number) const {
    return kinds[static_cast<std::size_t>(nodes[static_cast<std::size_t>(number)])];
  }
  const DeviceSpec& device(DeviceId id) const;

  // This cluster as so many ranks see it. Where it is one node with alternatives, that of them with as many
  // devices; where none has, the next larger number, else the largest. Any other cluster is as it is.
  Cluster for_ranks(std::int32_t ranks) const;
};

}  // namespace nadi::inline describe
