#include "nadi/cluster/cluster.h"

#include <gtest/gtest.h>

namespace nadi::inline describe {
namespace {

Cluster two_kinds() {
  Cluster cluster;
  cluster.devices = {{.name = "fast", .product = ""}, {.name = "slow", .product = ""}};
  cluster.kinds = {{.name = "big", .device = 0, .devices = 4, .inside = {}},
                   {.name = "small", .device = 1, .devices = 2, .inside = {}}};
  cluster.nodes = {0, 1, 1};
  return cluster;
}

TEST(Cluster, NumbersDevicesNodeByNode) {
  const Cluster cluster = two_kinds();
  EXPECT_EQ(cluster.device_count(), 8);
  EXPECT_EQ(cluster.node_of(DeviceId{3}), 0);
  EXPECT_EQ(cluster.node_of(DeviceId{4}), 1);
  EXPECT_EQ(cluster.node_of(DeviceId{7}), 2);
  EXPECT_EQ(cluster.device(DeviceId{3}).name, "fast");
  EXPECT_EQ(cluster.device(DeviceId{6}).name, "slow");
}

TEST(Cluster, FindsNodesOfManyDevices) {
  Cluster cluster = two_kinds();
  cluster.kinds[1].devices = 4;
  cluster.nodes.assign(4096, 1);
  EXPECT_EQ(cluster.node_of(DeviceId{0}), 0);
  EXPECT_EQ(cluster.node_of(DeviceId{16383}), 4095);
  EXPECT_EQ(cluster.device(DeviceId{7}).name, "slow");
}

}  // namespace
}  // namespace nadi::inline describe
