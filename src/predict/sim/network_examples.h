// Small clusters for tests of networks: only what the network is.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/cluster/cluster.h"

namespace nadi::inline predict {

inline Fabric example_fabric(FabricTopology topology, double bytes_per_second, std::int64_t latency) {
  return {.kind = "example",
          .topology = topology,
          .bandwidth = ByteRate{bytes_per_second},
          .latency = Nanoseconds{latency}};
}

inline Cluster one_node(std::int32_t devices, const Fabric& inside) {
  Cluster cluster;
  cluster.name = "example";
  cluster.devices = {{.name = "device", .product = ""}};
  cluster.kinds = {{.name = "node", .devices = devices, .inside = inside}};
  cluster.nodes = {0};
  return cluster;
}

inline Cluster several_nodes(std::int32_t nodes, std::int32_t devices, const Fabric& inside,
                             const Fabric& between) {
  Cluster cluster = one_node(devices, inside);
  cluster.nodes.assign(static_cast<std::size_t>(nodes), 0);
  cluster.levels = {{.name = "nodes", .members = nodes, .fabric = between}};
  return cluster;
}

inline std::vector<DeviceId> device_range(std::int32_t first, std::int32_t count, std::int32_t step = 1) {
  std::vector<DeviceId> devices;
  for (std::int32_t i = 0; i < count; ++i) devices.push_back(DeviceId{first + i * step});
  return devices;
}

}  // namespace nadi::inline predict
