#include "nadi/plan/placement_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "nadi/plan/plan_brute_force_for_tests.h"

namespace nadi::inline predict {
namespace {

using Order = std::vector<std::int32_t>;

// How many times another make follows, and one more.
std::int64_t runs_in(const Order& order) {
  std::int64_t runs = 1;
  for (std::size_t i = 1; i < order.size(); ++i) runs += order[i] != order[i - 1] ? 1 : 0;
  return runs;
}

struct Placement {
  Cluster cluster;
  std::vector<std::int32_t> nodes;
  StageMakes makes;
};
Placement placement_of(const MixedNodes& mixed, const StageNeed& need) {
  Placement placement{.cluster = mixed_cluster(mixed), .nodes = {mixed.fast, mixed.slow}, .makes = {}};
  placement.makes = stage_makes(placement.cluster, placement.nodes, need);
  return placement;
}

// Forty kinds of one node each: 2^40 sets of nodes, of which none has 41 devices.
TEST(StageMakes, ManyKindsOfNodesTakeNoTime) {
  Cluster cluster = mixed_cluster({.fast = 1, .slow = 0, .fast_devices = 1});
  const NodeSpec kind = cluster.kinds.front();
  cluster.kinds.assign(40, kind);
  const std::vector<std::int32_t> nodes(40, 1);
  const StageMakes none = stage_makes(cluster, nodes, {.ranks = 41, .tp = 1, .stages = 1});
  EXPECT_TRUE(none.mixes_left_out);
  EXPECT_TRUE(none.makes.empty());
  const StageMakes single = stage_makes(cluster, nodes, {.ranks = 1, .tp = 1, .stages = 20});
  EXPECT_EQ(single.makes.size(), 40u);
  EXPECT_TRUE(all_orders(single, nodes, 1000).empty());
  // Not all sets of 20 nodes; all 40 are named in their place.
  EXPECT_THAT(node_counts(single, nodes), testing::Contains(nodes));
  int asked = 0;
  EXPECT_TRUE(covering_orders(single, nodes, [&] { return ++asked > 1; }).empty());
}

TEST(OrdersOfRuns, AreAllOrdersWithUpToThreeRunsWhereEveryNodeIsAStage) {
  for (const MixedNodes& mixed : {MixedNodes{.fast = 3, .slow = 2}, MixedNodes{.fast = 4, .slow = 4},
                                  MixedNodes{.fast = 1, .slow = 5}, MixedNodes{.fast = 0, .slow = 3}}) {
    const std::int64_t stages = mixed.fast + mixed.slow;
    const Placement placement =
        placement_of(mixed, {.ranks = 2, .tp = 1, .stages = stages, .all_devices = true});
    std::vector<Order> expected;
    for (const Order& order : all_orders(placement.makes, placement.nodes, 1000))
      if (runs_in(order) <= 3) expected.push_back(order);
    ASSERT_FALSE(expected.empty());
    const std::vector<Order> found = orders_of_runs(placement.makes, placement.nodes, 1000);
    EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected))
        << mixed.fast << " fast, " << mixed.slow << " slow";
    EXPECT_TRUE(std::ranges::is_sorted(found, {}, [](const Order& order) { return runs_in(order) > 2; }))
        << "those with two runs come first";
  }
}

TEST(OrdersOfRuns, ArePlacementsAlsoWhereNodesAreSharedOrLeftOver) {
  for (std::int64_t ranks = 1; ranks <= 4; ++ranks)
    for (std::int64_t stages = 1; stages <= 6; ++stages) {
      const Placement placement = placement_of({.fast = 2, .slow = 3, .fast_devices = 4, .slow_devices = 2},
                                               {.ranks = ranks, .tp = 1, .stages = stages});
      const std::vector<Order> all = all_orders(placement.makes, placement.nodes, 100'000);
      const std::vector<Order> found = orders_of_runs(placement.makes, placement.nodes, 1000);
      EXPECT_EQ(found.empty(), all.empty()) << ranks << " ranks, " << stages << " stages";
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_THAT(all, testing::Contains(found[i]));
        EXPECT_EQ(std::ranges::count(found, found[i]), 1);
      }
    }
}

TEST(OrdersOfRuns, AreNoMoreThanAskedFor) {
  const Placement placement =
      placement_of({.fast = 4, .slow = 4}, {.ranks = 2, .tp = 1, .stages = 8, .all_devices = true});
  const std::vector<Order> some = orders_of_runs(placement.makes, placement.nodes, 3);
  ASSERT_EQ(some.size(), 3u);
  EXPECT_EQ(runs_in(some[0]), 2);
  EXPECT_EQ(runs_in(some[1]), 2);
}

}  // namespace
}  // namespace nadi::inline predict
