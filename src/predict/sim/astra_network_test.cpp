#include "nadi/sim/astra_network.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/sim/network_examples.h"

namespace nadi::inline predict {
namespace {

// Links of 1 B/ns and 100 ns, 10 ns at both ends together; memory of 3 B/ns: what is summed takes 1 ns a
// byte.
Cluster astra_ring(std::int32_t devices) {
  Cluster cluster = one_node(devices, example_fabric(FabricTopology::kRing, 2e9, 110));
  cluster.devices[0].memory_bandwidth = ByteRate{3e9};
  cluster.astra = AstraCollectives{};
  return cluster;
}

std::int64_t time_of(const Cluster& cluster, CollectiveType type, std::int64_t size,
                     const std::vector<DeviceId>& members) {
  return AstraNetwork(cluster).collective(type, Bytes{size}, members).count();
}

TEST(AstraNetwork, RingsGoOneWay) {
  const Cluster cluster = astra_ring(4);
  const auto all = device_range(0, 4);
  // 10 + 6 (100 + 1000 + 10), and 3 sums of 1000 B.
  EXPECT_EQ(time_of(cluster, CollectiveType::kAllReduce, 4000, all), 10 + 6 * 1110 + 3 * 999);
  EXPECT_EQ(time_of(cluster, CollectiveType::kReduceScatter, 4000, all), 10 + 3 * 1110 + 3 * 999);
  // Each puts 4000 in: 10 + 3 (100 + 4000 + 10).
  EXPECT_EQ(time_of(cluster, CollectiveType::kAllGather, 4000, all), 10 + 3 * 4110);
  // Six messages of 1000 B.
  EXPECT_EQ(time_of(cluster, CollectiveType::kAllToAll, 4000, all), 10 + 6 * 1110);
}

// Members 0 and 2 are two hops apart, both ways.
TEST(AstraNetwork, GroupsOfAPartAreARing) {
  EXPECT_EQ(time_of(astra_ring(4), CollectiveType::kAllGather, 1000, {DeviceId{0}, DeviceId{2}}),
            10 + 1 * (200 + 1000 + 10));
}

// Four chunks of 1000 B, two at once: two rounds of 10 + 6 (100 + 250 + 10) + 3 * 250.
TEST(AstraNetwork, ChunksShareADimension) {
  Cluster cluster = astra_ring(4);
  cluster.astra->splits = 4;
  cluster.astra->active_chunks = 2;
  EXPECT_EQ(time_of(cluster, CollectiveType::kAllReduce, 4000, device_range(0, 4)),
            2 * (10 + 6 * 360 + 3 * 249));
}

// Two nodes of four. Baseline: all-reduces of 4000 B in both dimensions. Else a reduce-scatter, an all-reduce
// of 1000 B, an all-gather of 1000 B.
TEST(AstraNetwork, OptimizationOfAllReduces) {
  Cluster cluster = several_nodes(2, 4, example_fabric(FabricTopology::kRing, 2e9, 110),
                                  example_fabric(FabricTopology::kSwitch, 4e9, 210));
  cluster.devices[0].memory_bandwidth = ByteRate{3e9};
  cluster.astra = AstraCollectives{};
  const auto all = device_range(0, 8);
  const std::int64_t inside = 10 + 6 * 1110 + 3 * 999;
  // Two hops of 100 ns.
  EXPECT_EQ(time_of(cluster, CollectiveType::kAllReduce, 4000, all),
            inside + 10 + 2 * (200 + 2000 + 10) + 1998);
  cluster.astra->local_bandwidth_aware = true;
  EXPECT_EQ(time_of(cluster, CollectiveType::kAllReduce, 4000, all),
            (10 + 3 * 1110 + 3 * 999) + (10 + 2 * (200 + 500 + 10) + 498) + (10 + 3 * 1110));
}

TEST(AstraNetwork, OtherAlgorithms) {
  Cluster cluster = one_node(4, example_fabric(FabricTopology::kSwitch, 1e9, 210));
  cluster.devices[0].memory_bandwidth = ByteRate{3e9};
  cluster.astra = AstraCollectives{.all_reduce = {{AstraAlgorithmKind::kDirect}}};
  const auto all = device_range(0, 4);
  EXPECT_EQ(time_of(cluster, CollectiveType::kAllReduce, 4000, all), 10 + 2 * (200 + 1000 + 10) + 999);
  cluster.astra->all_reduce = {{AstraAlgorithmKind::kHalvingDoubling}};
  // Halves and quarters, there and back; the quarter is summed.
  EXPECT_EQ(time_of(cluster, CollectiveType::kAllReduce, 4000, all), 10 + 2 * (2210 + 1210) + 999);
  cluster.astra->all_reduce = {{AstraAlgorithmKind::kDoubleBinaryTree}};
  // Leaves to the middle, the middle to the root, and back; sums of 4000 B at each of the three, and what
  // comes down counts as one.
  EXPECT_EQ(time_of(cluster, CollectiveType::kAllReduce, 4000, all),
            10 + 4200 + (10 + 3999) + 4200 + (10 + 3999) + 4200 + (10 + 3999) + 4200 + 10);
  EXPECT_THROW(time_of(cluster, CollectiveType::kAllReduce, 4000, device_range(0, 2)), Error);
}

// The innermost dimension in which the ends differ, whatever the others are.
TEST(AstraNetwork, MessagesTakeOneDimension) {
  Cluster cluster = several_nodes(4, 4, example_fabric(FabricTopology::kRing, 2e9, 110),
                                  example_fabric(FabricTopology::kRing, 16e9, 510));
  cluster.astra = AstraCollectives{};
  const AstraNetwork network(cluster);
  EXPECT_EQ(network.message(Bytes{1000}, DeviceId{0}, DeviceId{6}), Nanoseconds{200 + 1000});
  EXPECT_EQ(network.message(Bytes{1000}, DeviceId{0}, DeviceId{8}), Nanoseconds{1000 + 500});
  EXPECT_EQ(network.message(Bytes{1000}, DeviceId{0}, DeviceId{12}), Nanoseconds{500 + 500});
}

}  // namespace
}  // namespace nadi::inline predict
