// How long communication takes on the network of a cluster when nothing unknown gets in its way: closed forms
// per algorithm and level (`analytical`). flow_network.h has the version that shares links among whatever is
// under way at the same time.
//
//   NetworkModel network(cluster, {});
//   network.collective({.type = CollectiveType::kAllReduce, .size = size, .members = members});
//   network.message(size, from, to);
//
// `size` of a collective is that of the member's own input, as in traces (comm_size).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/trace/node_type.h"

namespace nadi {

enum class CollectiveAlgorithm : std::uint8_t {
  kAuto,  // the fastest for the size and the members, as NCCL chooses
  kRing,
  kTree,             // double binary
  kHalvingDoubling,  // recursive
  kDirect,           // everybody with everybody
  kHierarchical,     // within nodes, then between
};

struct CollectiveRequest {
  CollectiveType type{};
  Bytes size;
  std::span<const DeviceId> members;
  // How many groups like this one are under way at the same time and share the links of their nodes: data-
  // parallel groups of the tensor-parallel ranks of a node, for instance.
  std::int32_t sharing = 1;
};

struct NetworkOptions {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;
};

class NetworkModel {
 public:
  explicit NetworkModel(const Cluster& cluster, const NetworkOptions& options = {});
  ~NetworkModel();

  Nanoseconds collective(const CollectiveRequest& request) const;
  Nanoseconds message(Bytes size, DeviceId from, DeviceId to, std::int32_t sharing = 1) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi
