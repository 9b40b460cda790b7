#include "nadi/sim/network_topology.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/sim/network_examples.h"

namespace nadi::inline predict {
namespace {

std::vector<std::string> way(const NetworkTopology& network, std::int32_t from, std::int32_t to) {
  std::vector<std::string> names;
  for (const LinkId link : network.path(DeviceId{from}, DeviceId{to}).links)
    names.push_back(network.link_name(link));
  return names;
}

using Names = std::vector<std::string>;

std::string refusal(const Cluster& cluster, std::string_view fault, std::int32_t from, std::int32_t to) {
  try {
    const std::vector<LinkFault> faults = {parse_link_fault(fault)};
    const NetworkTopology network(cluster, faults);
    network.path(DeviceId{from}, DeviceId{to});
    return {};
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(NetworkTopology, CrossesSwitchesInsideAndBetweenNodes) {
  const NetworkTopology network(several_nodes(2, 2, example_fabric(FabricTopology::kSwitch, 100e9, 1001),
                                              example_fabric(FabricTopology::kSwitch, 10e9, 5000)));
  EXPECT_EQ(way(network, 0, 1), (Names{"device0.up", "device1.down"}));
  EXPECT_EQ(network.path(DeviceId{0}, DeviceId{1}).latency.count(), 1001);
  EXPECT_EQ(way(network, 1, 2), (Names{"node0.up", "node1.down"}));
  EXPECT_EQ(network.path(DeviceId{1}, DeviceId{2}).latency.count(), 5000);
  EXPECT_EQ(network.bandwidth(network.path(DeviceId{1}, DeviceId{2})), ByteRate{10e9});
  EXPECT_TRUE(way(network, 3, 3).empty());
}

TEST(NetworkTopology, ClimbsThroughGroupsOfNodes) {
  Cluster cluster = several_nodes(5, 1, example_fabric(FabricTopology::kSwitch, 100e9, 1000),
                                  example_fabric(FabricTopology::kSwitch, 10e9, 2000));
  cluster.levels[0].members = 2;
  cluster.levels.push_back(
      {.name = "racks", .members = 3, .fabric = example_fabric(FabricTopology::kSwitch, 20e9, 4000)});
  const NetworkTopology network(cluster);
  EXPECT_EQ(way(network, 0, 1), (Names{"node0.up", "node1.down"}));
  EXPECT_EQ(way(network, 1, 4), (Names{"node1.up", "level2.0.up", "level2.2.down", "node4.down"}));
  EXPECT_EQ(network.path(DeviceId{1}, DeviceId{4}).latency.count(), 6000);
}

TEST(NetworkTopology, GoesTheShorterWayRound) {
  const Cluster cluster = one_node(5, example_fabric(FabricTopology::kRing, 10e9, 100));
  const NetworkTopology network(cluster);
  EXPECT_EQ(way(network, 0, 2), (Names{"device0>device1", "device1>device2"}));
  EXPECT_EQ(way(network, 0, 3), (Names{"device0>device4", "device4>device3"}));
  EXPECT_EQ(network.bandwidth(network.path(DeviceId{0}, DeviceId{1})), ByteRate{5e9});
  const std::vector<LinkFault> faults = {parse_link_fault("device0-device1")};
  const NetworkTopology broken(cluster, faults);
  EXPECT_EQ(way(broken, 0, 1),
            (Names{"device0>device4", "device4>device3", "device3>device2", "device2>device1"}));
  EXPECT_EQ(way(broken, 1, 2), (Names{"device1>device2"}));
}

TEST(NetworkTopology, GoesRoundAFailedLinkOfAMesh) {
  const Cluster cluster = one_node(3, example_fabric(FabricTopology::kMesh, 10e9, 100));
  const std::vector<LinkFault> faults = {parse_link_fault("device0>device2")};
  const NetworkTopology network(cluster, faults);
  EXPECT_EQ(way(network, 0, 2), (Names{"device0>device1", "device1>device2"}));
  EXPECT_EQ(way(network, 2, 0), (Names{"device2>device0"}));
}

TEST(NetworkTopology, HasABusAndCards) {
  Fabric cards = example_fabric(FabricTopology::kBus, 40e9, 300);
  cards.device_bandwidth = ByteRate{10e9};
  cards.efficiency = 0.5;
  const NetworkTopology network(several_nodes(2, 2, example_fabric(FabricTopology::kBus, 100e9, 200), cards));
  EXPECT_EQ(way(network, 2, 3), (Names{"node1.bus"}));
  EXPECT_EQ(way(network, 1, 2), (Names{"device1.card.up", "level2.0.bus", "device2.card.down"}));
  EXPECT_EQ(network.bandwidth(network.path(DeviceId{1}, DeviceId{2})), ByteRate{5e9});
  const std::vector<LinkFault> faults = {parse_link_fault("level2.0.bus:0.25x")};
  const NetworkTopology slow(network.cluster(), faults);
  EXPECT_EQ(slow.bandwidth(slow.path(DeviceId{1}, DeviceId{2})), ByteRate{5e9});
  const std::vector<LinkFault> card = {parse_link_fault("device1.card.up:0.5")};
  const NetworkTopology slow_card(network.cluster(), card);
  EXPECT_EQ(slow_card.bandwidth(slow_card.path(DeviceId{1}, DeviceId{2})), ByteRate{2.5e9});
  EXPECT_EQ(slow_card.bandwidth(slow_card.path(DeviceId{2}, DeviceId{1})), ByteRate{5e9});
}

TEST(NetworkTopology, NamesBothEndsOfAWayThatIsGone) {
  const Cluster cluster = several_nodes(2, 2, example_fabric(FabricTopology::kSwitch, 100e9, 1000),
                                        example_fabric(FabricTopology::kSwitch, 10e9, 5000));
  EXPECT_EQ(refusal(cluster, "node1.down", 0, 3),
            "device 0 (node 0) cannot reach device 3 (node 1): no way from node0 to node1 is left");
  EXPECT_EQ(refusal(cluster, "node1.down", 3, 0), "");
  EXPECT_EQ(refusal(cluster, "device1", 0, 1),
            "device 0 (node 0) cannot reach device 1 (node 0): a link has failed");
  Cluster apart = cluster;
  apart.levels.clear();
  EXPECT_EQ(refusal(apart, "device0", 1, 2),
            "device 1 (node 0) cannot reach device 2 (node 1): the cluster has no network between its nodes");
}

TEST(NetworkTopology, RefusesWhatDoesNotFitInMemory) {
  EXPECT_THROW(NetworkTopology(one_node(3'000'000, example_fabric(FabricTopology::kSwitch, 1e9, 1))), Error);
  EXPECT_THROW(NetworkTopology(one_node(5'000, example_fabric(FabricTopology::kMesh, 1e9, 1))), Error);
}

TEST(NetworkTopology, RefusesFaultsOfLinksThatAreNotThere) {
  const Cluster cluster = several_nodes(2, 2, example_fabric(FabricTopology::kSwitch, 100e9, 1000),
                                        example_fabric(FabricTopology::kSwitch, 10e9, 5000));
  for (const std::string_view wrong :
       {"node2", "device4", "device0-device1", "node0.bus", "level2.0", "cable7", "device0.card", "device-1",
        "node99999999999", "level1.0", "level9.9.bus"})
    EXPECT_NE(refusal(cluster, wrong, 0, 1).find("has no link"), std::string::npos) << wrong;
  for (const std::string_view wrong :
       {"", ":0.5x", "node0:fast", "node0:-1x", "node0:nan", "node0:0.5xx", "node0:"})
    EXPECT_NE(refusal(cluster, wrong, 0, 1).find("--fail-link"), std::string::npos) << wrong;
  EXPECT_EQ(parse_link_fault("node0:0.5x"), (LinkFault{"node0", 0.5}));
}

}  // namespace
}  // namespace nadi::inline predict
