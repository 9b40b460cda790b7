#include "nadi/sim/shared_node.h"

#include <gtest/gtest.h>

namespace nadi::inline predict {
namespace {

Cluster machine_of_two(double alone_speedup) {
  Cluster cluster;
  cluster.devices = {{.name = "half", .product = ""}};
  cluster.kinds = {{.name = "n", .device = 0, .devices = 2, .inside = {}}};
  cluster.kinds[0].alone_speedup = alone_speedup;
  cluster.nodes = {0};
  return cluster;
}

// Rank 0 computes 100 ns, then rank 1 does: neither computes beside the other.
SimulationResult one_after_the_other(const SimulationOptions& options) {
  double factors[2] = {1, 1};
  for (const SlowRank& slow : options.slow) factors[to_number(slow.rank)] = slow.factor;
  SimulationResult result;
  result.ranks = 2;
  Nanoseconds at{};
  for (int rank = 0; rank < 2; ++rank) {
    const Nanoseconds end = at + Nanoseconds{static_cast<std::int64_t>(100 * factors[rank])};
    result.classes.push_back({.ranks = {Rank{rank}}, .nodes = {{.start = at, .end = end}}});
    at = end;
  }
  result.iteration_time = at;
  return result;
}

std::vector<NodeTime> all_nodes(const SimulationResult& result, Rank rank) {
  return result.classes[static_cast<std::size_t>(to_number(rank))].nodes;
}

// Alone each is twice as fast: 50 + 50 ns.
TEST(SharedNode, WaitingNeighboursMakeARankFaster) {
  const SimulationResult result =
      with_shared_nodes(one_after_the_other({}), machine_of_two(2), {}, all_nodes, one_after_the_other);
  EXPECT_EQ(result.iteration_time, Nanoseconds{100});
  EXPECT_EQ(with_shared_nodes(one_after_the_other({}), machine_of_two(1), {}, all_nodes, one_after_the_other)
                .iteration_time,
            Nanoseconds{200});
}

}  // namespace
}  // namespace nadi::inline predict
