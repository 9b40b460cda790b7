// Clusters with round figures: devices of 1 TFLOP/s and 1 TB/s, 100 GB/s inside a node, 10 GB/s between.
#pragma once

#include <cstdint>

#include "nadi/cluster/cluster.h"

namespace nadi::inline predict {

inline DeviceSpec device_for_tests() {
  DeviceSpec device{.name = "test", .product = "test"};
  for (FlopRate& peak : device.matrix_peak) peak = FlopRate{1e12};
  device.vector_peak = FlopRate{1e12};
  device.memory_bandwidth = ByteRate{1e12};
  device.memory = Bytes{1} * 16'000'000'000;
  device.launch_overhead = Nanoseconds{1000};
  return device;
}

inline Cluster cluster_for_tests(std::int32_t nodes, std::int32_t devices_per_node) {
  Cluster cluster;
  cluster.name = "test";
  cluster.devices.push_back(device_for_tests());
  cluster.kinds.push_back(
      {.name = "node",
       .device = 0,
       .devices = devices_per_node,
       .inside = {.kind = "nvlink", .bandwidth = ByteRate{100e9}, .latency = Nanoseconds{2000}}});
  cluster.nodes.assign(static_cast<std::size_t>(nodes), 0);
  if (nodes > 1)
    cluster.levels.push_back(
        {.name = "nodes",
         .members = nodes,
         .fabric = {.kind = "infiniband", .bandwidth = ByteRate{10e9}, .latency = Nanoseconds{5000}}});
  return cluster;
}

}  // namespace nadi::inline predict
