#include "nadi/sim/network_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "nadi/base/error.h"
#include "nadi/cluster/nccl_transport.h"
#include "nadi/sim/network_examples.h"

namespace nadi::inline predict {
namespace {

using Algorithm = CollectiveAlgorithm;
using Type = CollectiveType;

constexpr double kBandwidth = 100e9, kLatency = 2e-6;
constexpr std::int64_t kSize = 50'000'000;

Cluster pencil_node(std::int32_t devices) {
  return one_node(devices, example_fabric(FabricTopology::kSwitch, kBandwidth, 2000));
}

double seconds_of(const Cluster& cluster, Algorithm algorithm, Type type, std::vector<DeviceId> members,
                  std::int32_t sharing = 1) {
  const NetworkModel network(cluster, {.algorithm = algorithm});
  return to_seconds(
      network.collective({.type = type, .size = Bytes{kSize}, .members = members, .sharing = sharing}));
}

struct PencilCase {
  Type type;
  Algorithm algorithm;
  std::function<double(double n)> seconds;
};

double log2_up(double n) {
  return std::ceil(std::log2(n));
}

TEST(NetworkModel, CollectivesEqualTheirClosedForms) {
  const double a = kLatency, S = static_cast<double>(kSize), B = kBandwidth;
  const std::vector<PencilCase> cases = {
      {Type::kAllReduce, Algorithm::kRing, [=](double n) { return 2 * (n - 1) * (a + S / n / B); }},
      {Type::kAllReduce, Algorithm::kTree,
       [=](double n) { return 2 * (std::floor(std::log2(n)) * a + (n == 2 ? S / 2 : S) / B); }},
      {Type::kAllReduce, Algorithm::kHalvingDoubling,
       [=](double n) { return 2 * (log2_up(n) * a + (n - 1) / n * S / B); }},
      {Type::kAllReduce, Algorithm::kDirect, [=](double n) { return 2 * (a + (n - 1) / n * S / B); }},
      {Type::kReduceScatter, Algorithm::kRing, [=](double n) { return (n - 1) * (a + S / n / B); }},
      {Type::kReduceScatter, Algorithm::kHalvingDoubling,
       [=](double n) { return log2_up(n) * a + (n - 1) / n * S / B; }},
      {Type::kReduceScatter, Algorithm::kDirect, [=](double n) { return a + (n - 1) / n * S / B; }},
      {Type::kAllGather, Algorithm::kRing, [=](double n) { return (n - 1) * (a + S / B); }},
      {Type::kAllGather, Algorithm::kHalvingDoubling,
       [=](double n) { return log2_up(n) * a + (n - 1) * S / B; }},
      {Type::kAllGather, Algorithm::kDirect, [=](double n) { return a + (n - 1) * S / B; }},
      {Type::kBroadcast, Algorithm::kRing, [=](double n) { return (n - 1) * a + S / B; }},
      {Type::kBroadcast, Algorithm::kTree, [=](double n) { return log2_up(n) * (a + S / B); }},
      {Type::kBroadcast, Algorithm::kDirect, [=](double n) { return a + (n - 1) * S / B; }},
      {Type::kReduce, Algorithm::kRing, [=](double n) { return (n - 1) * a + S / B; }},
      {Type::kReduce, Algorithm::kTree, [=](double n) { return log2_up(n) * (a + S / B); }},
      {Type::kAllToAll, Algorithm::kDirect, [=](double n) { return a + (n - 1) / n * S / B; }},
      {Type::kAllToAll, Algorithm::kRing, [=](double n) { return (n - 1) * (a + S / n / B); }},
      {Type::kGather, Algorithm::kDirect, [=](double n) { return a + (n - 1) * S / B; }},
      {Type::kScatter, Algorithm::kDirect, [=](double n) { return a + (n - 1) / n * S / B; }},
      {Type::kBarrier, Algorithm::kRing, [=](double n) { return 2 * (n - 1) * a; }},
      {Type::kBarrier, Algorithm::kHalvingDoubling, [=](double n) { return log2_up(n) * a; }},
      {Type::kBarrier, Algorithm::kDirect, [=](double) { return a; }},
  };
  for (const PencilCase& pencil : cases) {
    for (std::int32_t n = 2; n <= 8; ++n) {
      const double expected = pencil.seconds(n);
      EXPECT_NEAR(seconds_of(pencil_node(n), pencil.algorithm, pencil.type, device_range(0, n)), expected,
                  0.001 * expected)
          << to_string(pencil.type) << ' ' << to_string(pencil.algorithm) << ' ' << n;
    }
  }
}

TEST(NetworkModel, BinomialTreesOfPartsMoveLessAndLess) {
  const double a = kLatency, S = kSize, B = kBandwidth;
  // From 4 to 8 members: halves, quarters, eighths.
  EXPECT_NEAR(seconds_of(pencil_node(8), Algorithm::kTree, Type::kScatter, device_range(0, 8)),
              3 * a + 7.0 / 8 * S / B, 1e-8);
  EXPECT_NEAR(seconds_of(pencil_node(8), Algorithm::kTree, Type::kGather, device_range(0, 8)),
              3 * a + 7 * S / B, 1e-8);
  // Bruck's all-to-all of four: two steps with two blocks each.
  EXPECT_NEAR(seconds_of(pencil_node(4), Algorithm::kHalvingDoubling, Type::kAllToAll, device_range(0, 4)),
              2 * (a + S / 2 / B), 1e-8);
}

TEST(NetworkModel, HierarchicalAddsUpItsLevels) {
  const Cluster cluster = several_nodes(4, 2, example_fabric(FabricTopology::kSwitch, 100e9, 1000),
                                        example_fabric(FabricTopology::kSwitch, 10e9, 5000));
  const double S = kSize;
  // Two members of a node share its cards.
  const double inside = 1e-6 + S / 2 / 100e9, between = 2 * 3 * (5e-6 + S / 8 / (10e9 / 2));
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kHierarchical, Type::kAllReduce, device_range(0, 8)),
              2 * inside + between, 1e-8);
  // All-gather: between the nodes first.
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kHierarchical, Type::kAllGather, device_range(0, 8)),
              3 * (5e-6 + S / (10e9 / 2)) + 1e-6 + 4 * S / 100e9, 1e-8);
  // One node, or one member per node: a ring.
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kHierarchical, Type::kAllReduce, device_range(0, 4, 2)),
              2 * 3 * (5e-6 + S / 4 / 10e9), 1e-8);
}

TEST(NetworkModel, RingsAndTreesOverNodesCrossEachNodeOnce) {
  const Cluster cluster = several_nodes(4, 2, example_fabric(FabricTopology::kSwitch, 100e9, 1000),
                                        example_fabric(FabricTopology::kSwitch, 10e9, 5000));
  const double S = kSize;
  // A piece passes all links of the ring but one of the short ones, twice.
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kRing, Type::kAllReduce, device_range(0, 8)),
              2 * (3 * 1e-6 + 4 * 5e-6) + 14 * S / 8 / 10e9, 1e-8);
  // A chain of two in each node, trees of depth two between.
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kTree, Type::kAllReduce, device_range(0, 8)),
              2 * (1e-6 + 2 * 5e-6 + S / 10e9), 1e-8);
}

TEST(NetworkModel, ChoosesTreesForSmallReductionsOverNodes) {
  const Cluster cluster = several_nodes(16, 2, example_fabric(FabricTopology::kSwitch, 100e9, 1000),
                                        example_fabric(FabricTopology::kSwitch, 10e9, 5000));
  const NetworkModel network(cluster);
  const GroupId all = network.group_of(device_range(0, 32)), node = network.group_of(device_range(0, 2));
  EXPECT_EQ(network.choice(Type::kAllReduce, 1_KiB, all).algorithm, Algorithm::kTree);
  EXPECT_EQ(network.choice(Type::kAllReduce, 1_GiB, all).algorithm, Algorithm::kRing);
  EXPECT_EQ(network.choice(Type::kAllReduce, 1_KiB, node).algorithm, Algorithm::kRing);
  EXPECT_EQ(network.choice(Type::kAllToAll, 1_KiB, all).algorithm, Algorithm::kDirect);
}

TEST(NetworkModel, GroupsThatShareCardsTakeTheirPart) {
  const Cluster cluster = several_nodes(2, 4, example_fabric(FabricTopology::kSwitch, 100e9, 0),
                                        example_fabric(FabricTopology::kSwitch, 10e9, 0));
  const NetworkModel network(cluster);
  // Four data-parallel groups of two, one member in each node, share the cards.
  std::vector<std::vector<DeviceId>> groups;
  for (std::int32_t i = 0; i < 4; ++i) groups.push_back(device_range(i, 2, 4));
  EXPECT_EQ(network.sharing_of(groups), (std::vector<std::int32_t>{4, 4, 4, 4}));
  // Groups inside the nodes are alone on a switch, and together on a bus.
  groups = {device_range(0, 2), device_range(2, 2), device_range(4, 4)};
  EXPECT_EQ(network.sharing_of(groups), (std::vector<std::int32_t>{1, 1, 1}));
  const NetworkModel bus(several_nodes(2, 4, example_fabric(FabricTopology::kBus, 100e9, 0),
                                       example_fabric(FabricTopology::kSwitch, 10e9, 0)));
  EXPECT_EQ(bus.sharing_of(groups), (std::vector<std::int32_t>{2, 2, 1}));

  // Messages of a pipeline through three nodes: two from each node, and none of the next node's on the same
  // link.
  const NetworkModel three(several_nodes(3, 2, example_fabric(FabricTopology::kSwitch, 100e9, 0),
                                         example_fabric(FabricTopology::kSwitch, 10e9, 0)));
  const std::vector<MessageEnds> messages = {{DeviceId{0}, DeviceId{2}},
                                             {DeviceId{1}, DeviceId{3}},
                                             {DeviceId{2}, DeviceId{4}},
                                             {DeviceId{3}, DeviceId{5}},
                                             {DeviceId{4}, DeviceId{5}}};
  EXPECT_EQ(three.sharing_of(messages), (std::vector<std::int32_t>{2, 2, 2, 2, 1}));

  const double S = kSize;
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kAuto, Type::kAllReduce, device_range(0, 2, 4), 4),
              S / (10e9 / 4), 1e-8);
  // A ring inside a node has its own links.
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kAuto, Type::kAllReduce, device_range(0, 4), 4), 1.5 * S / 100e9,
              1e-8);
  EXPECT_EQ(network.message(Bytes{kSize}, DeviceId{0}, DeviceId{4}, 4).count(), 20'000'000);
}

TEST(NetworkModel, OneDeviceHasOneCardAndAGroupAllOfThem) {
  Fabric cards = example_fabric(FabricTopology::kSwitch, 40e9, 0);
  cards.device_bandwidth = ByteRate{10e9};
  const Cluster cluster = several_nodes(2, 4, example_fabric(FabricTopology::kSwitch, 1000e9, 0), cards);
  const NetworkModel network(cluster);
  const double S = kSize;
  EXPECT_EQ(network.message(Bytes{kSize}, DeviceId{0}, DeviceId{4}).count(), 5'000'000);
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kRing, Type::kAllReduce, device_range(0, 2, 4)), S / 10e9, 1e-8);
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kRing, Type::kAllReduce, device_range(0, 2, 4), 4), S / 10e9,
              1e-8);
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kRing, Type::kAllReduce, device_range(0, 8)),
              14.0 / 8 * S / 40e9, 1e-8);
}

TEST(NetworkModel, TheSlowestNodeCounts) {
  Cluster cluster = several_nodes(3, 2, example_fabric(FabricTopology::kSwitch, 100e9, 1000),
                                  example_fabric(FabricTopology::kSwitch, 10e9, 5000));
  cluster.kinds.push_back(cluster.kinds[0]);
  cluster.kinds[1].outside = example_fabric(FabricTopology::kSwitch, 2e9, 9000);
  cluster.nodes = {0, 0, 1};
  const double S = kSize;
  const std::vector<DeviceId> members = device_range(0, 3, 2);
  // Latencies from node to node: 5, 7 and 7 us (half of each end's); once round without the shortest, twice.
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kRing, Type::kAllReduce, members), 2 * 14e-6 + 4 * S / 3 / 2e9,
              1e-8);
  EXPECT_NEAR(seconds_of(cluster, Algorithm::kRing, Type::kAllReduce, device_range(0, 2, 2)),
              2 * (5e-6 + S / 2 / 10e9), 1e-8);
}

TEST(NetworkModel, ProtocolsTradeDelayForBandwidth) {
  Cluster cluster = pencil_node(4);
  cluster.kinds[0].inside.protocols = {
      {.name = "ll", .overhead = Nanoseconds{1000}, .step = Nanoseconds{0}, .share = 0.25},
      {.name = "simple", .overhead = Nanoseconds{5000}, .step = Nanoseconds{3000}, .share = 1}};
  const NetworkModel network(cluster);
  const GroupId group = network.group_of(device_range(0, 4));
  EXPECT_EQ(network.collective(Type::kAllReduce, Bytes{0}, group).count(), 1000 + 6 * 2000);
  EXPECT_EQ(network.choice(Type::kAllReduce, Bytes{0}, group).protocol, "ll");
  EXPECT_EQ(network.collective(Type::kAllReduce, Bytes{kSize}, group).count(), 5000 + 6 * 5000 + 750'000);
  EXPECT_EQ(network.choice(Type::kAllReduce, Bytes{kSize}, group).protocol, "simple");
  // The pass through memory comes on top, once for each of the two halves.
  cluster.kinds[0].inside.local_bandwidth = ByteRate{1000e9};
  EXPECT_EQ(NetworkModel(cluster)
                .collective({.type = Type::kAllReduce, .size = Bytes{kSize}, .members = device_range(0, 4)})
                .count(),
            5000 + 6 * 5000 + 750'000 + 100'000);
}

TEST(NetworkModel, MeasuredCollectivesWin) {
  Cluster cluster = pencil_node(4);
  cluster.kinds[0].inside.measured.collectives = {
      {.type = Type::kAllReduce, .ranks = 2, .size = Bytes{1000}, .time = Nanoseconds{77'000}}};
  cluster.kinds[0].inside.measured.messages = {{.size = Bytes{1000}, .time = Nanoseconds{33'000}}};
  const NetworkModel network(cluster);
  EXPECT_EQ(network.collective(Type::kAllReduce, Bytes{1000}, network.group_of(device_range(1, 2))).count(),
            77'000);
  EXPECT_EQ(network.collective(Type::kAllReduce, Bytes{1000}, network.group_of(device_range(0, 4))).count(),
            6 * 2000 + 15);
  EXPECT_EQ(network.message(Bytes{1000}, DeviceId{0}, DeviceId{3}).count(), 33'000);
}

// Rows of published all-reduces of eight A100, microseconds: what use_nccl() is fitted to.
TEST(NetworkModel, NcclOnAnA100NodeIsAsPublished) {
  Cluster cluster = one_node(8, {.kind = "nvswitch", .bandwidth = ByteRate{300e9}});
  use_nccl(cluster.kinds[0].inside);
  const NetworkModel network(cluster);
  const GroupId group = network.group_of(device_range(0, 8));
  const auto microseconds = [&](Bytes size) {
    return static_cast<double>(network.collective(Type::kAllReduce, size, group).count()) / 1e3;
  };
  EXPECT_NEAR(microseconds(8_MiB), 134.3, 0.1 * 134.3);
  EXPECT_NEAR(microseconds(49_MiB), 500.0, 0.1 * 500.0);
  EXPECT_NEAR(microseconds(199_MiB), 1771.1, 0.05 * 1771.1);
  EXPECT_NEAR(microseconds(1024_MiB), 8193.0, 0.05 * 8193.0);
  EXPECT_EQ(network.choice(Type::kAllReduce, 16_KiB, group).protocol, "ll");
  EXPECT_EQ(network.choice(Type::kAllReduce, 8_MiB, group).protocol, "ll128");
  EXPECT_EQ(network.choice(Type::kAllReduce, 1_GiB, group).protocol, "simple");
}

TEST(NetworkModel, MeshesAndRingsUseTheirLinks) {
  const double S = kSize;
  const Cluster mesh = one_node(4, example_fabric(FabricTopology::kMesh, 30e9, 1000));
  // One link is a third of the bandwidth; direct uses all three.
  EXPECT_NEAR(seconds_of(mesh, Algorithm::kDirect, Type::kAllReduce, device_range(0, 4)),
              2 * (1e-6 + S / 4 / 10e9), 1e-8);
  EXPECT_NEAR(seconds_of(mesh, Algorithm::kAuto, Type::kAllReduce, device_range(0, 4)),
              2 * (1e-6 + S / 4 / 10e9), 1e-8);
  // Both ways round at once.
  const Cluster ring = one_node(4, example_fabric(FabricTopology::kRing, 30e9, 1000));
  EXPECT_NEAR(seconds_of(ring, Algorithm::kRing, Type::kAllReduce, device_range(0, 4)),
              6 * (1e-6 + S / 4 / 30e9), 1e-8);
  // Everybody's transfers go over one bus.
  const Cluster bus = one_node(4, example_fabric(FabricTopology::kBus, 30e9, 1000));
  EXPECT_NEAR(seconds_of(bus, Algorithm::kRing, Type::kAllReduce, device_range(0, 4)),
              6 * (1e-6 + 4 * S / 4 / 30e9), 1e-8);
}

TEST(NetworkModel, GroupsOfOneShapeAreOne) {
  const Cluster cluster = several_nodes(8, 4, example_fabric(FabricTopology::kSwitch, 100e9, 1000),
                                        example_fabric(FabricTopology::kSwitch, 10e9, 5000));
  const NetworkModel network(cluster);
  EXPECT_EQ(network.group_of(device_range(0, 4)), network.group_of(device_range(28, 4)));
  EXPECT_EQ(network.group_of(device_range(0, 2, 4)), network.group_of(device_range(3, 2, 8)));
  EXPECT_NE(network.group_of(device_range(0, 4)), network.group_of(device_range(2, 4)));
  // Not with a fault: then places differ.
  const NetworkModel faulty(cluster, {.faults = {parse_link_fault("node7:0.5x")}});
  EXPECT_NE(faulty.group_of(device_range(0, 2, 4)), faulty.group_of(device_range(20, 2, 8)));
  EXPECT_THROW(network.group_of(std::vector{DeviceId{1}, DeviceId{1}}), Error);
}

TEST(NetworkModel, CountsTrafficPerLink) {
  const NetworkModel network(pencil_node(4));
  std::vector<double> bytes;
  network.add_traffic({.type = Type::kAllReduce, .size = Bytes{4000}, .members = device_range(0, 4)}, bytes);
  network.add_traffic(Bytes{500}, DeviceId{1}, DeviceId{0}, bytes);
  ASSERT_EQ(bytes.size(), 8U);
  EXPECT_DOUBLE_EQ(bytes[0], 6000);  // device0.up
  EXPECT_DOUBLE_EQ(bytes[1], 6500);
  EXPECT_DOUBLE_EQ(bytes[2], 6500);
}

}  // namespace
}  // namespace nadi::inline predict
