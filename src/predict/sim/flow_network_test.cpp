#include "nadi/sim/flow_network.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nadi/sim/flow_sharing.h"
#include "nadi/sim/network_examples.h"

namespace nadi::inline predict {
namespace {

std::vector<FlowCompletion> run_to_the_end(FlowNetwork& network) {
  std::vector<FlowCompletion> done;
  while (const auto next = network.next_event()) network.advance(*next, done);
  return done;
}

std::int64_t ends(const std::vector<FlowCompletion>& done, FlowId id) {
  for (const FlowCompletion& completion : done)
    if (completion.id == id) return completion.at.count();
  return -1;
}

Cluster flow_switch(std::int32_t devices) {
  return one_node(devices, example_fabric(FabricTopology::kSwitch, 1e9, 1000));
}

TEST(FlowSharing, FillsLinksAsMaxMinFairnessSays) {
  // The classic line of links of 1, 2 and 1: a long flow over all, short ones on each.
  FlowSharing sharing({1, 2, 1});
  const std::vector<std::vector<std::int32_t>> links = {{0, 1, 2}, {0}, {1}, {2}, {1, 2}};
  for (std::int32_t flow = 0; flow < 5; ++flow) sharing.add(flow, links[static_cast<std::size_t>(flow)]);
  std::vector<double> rates(5);
  for (const RateChange& change : sharing.settle())
    rates[static_cast<std::size_t>(change.flow)] = change.rate;
  // Link 2 is full first, at a third each; then link 0 with what is left; then link 1.
  EXPECT_DOUBLE_EQ(rates[0], 1.0 / 3);
  EXPECT_DOUBLE_EQ(rates[3], 1.0 / 3);
  EXPECT_DOUBLE_EQ(rates[4], 1.0 / 3);
  EXPECT_DOUBLE_EQ(rates[1], 2.0 / 3);
  EXPECT_DOUBLE_EQ(rates[2], 4.0 / 3);
  // Without the long one everything is looked at again, and only what changed is told.
  sharing.remove(0);
  std::vector<std::int32_t> changed;
  for (const RateChange& change : sharing.settle()) changed.push_back(change.flow);
  EXPECT_EQ(changed, (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_TRUE(sharing.settle().empty());
}

// All rates from the beginning: the least share of any link is what its flows have; again without them.
std::vector<double> rates_by_filling(std::vector<double> left,
                                     const std::vector<std::vector<std::int32_t>>& flows) {
  std::vector<double> rates(flows.size(), -1);
  for (;;) {
    std::vector<std::int32_t> open(left.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (rates[f] < 0)
        for (const std::int32_t link : flows[f]) ++open[static_cast<std::size_t>(link)];
    std::size_t tightest = left.size();
    for (std::size_t i = 0; i < left.size(); ++i)
      if (open[i] > 0 && (tightest == left.size() || left[i] / open[i] < left[tightest] / open[tightest]))
        tightest = i;
    if (tightest == left.size()) return rates;
    const double rate = left[tightest] / open[tightest];
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const bool uses = std::count(flows[f].begin(), flows[f].end(), static_cast<std::int32_t>(tightest)) > 0;
      if (rates[f] >= 0 || !uses) continue;
      rates[f] = rate;
      for (const std::int32_t link : flows[f]) left[static_cast<std::size_t>(link)] -= rate;
    }
  }
}

TEST(FlowSharing, LookingOnlyAtWhatHangsTogetherIsEnough) {
  std::uint32_t state = 1;
  const auto random = [&](std::uint32_t below) {
    state = state * 1664525 + 1013904223;
    return static_cast<std::int32_t>((state >> 8) % below);
  };
  std::vector<double> capacities;
  for (int i = 0; i < 40; ++i) capacities.push_back(1 + random(9));
  FlowSharing sharing(capacities);
  std::vector<std::vector<std::int32_t>> flows(60);  // empty means not there
  std::vector<double> rates(flows.size(), 0);
  for (int change = 0; change < 400; ++change) {
    const std::int32_t flow = random(60);
    std::vector<std::int32_t>& links = flows[static_cast<std::size_t>(flow)];
    if (links.empty()) {
      const std::int32_t first = random(36);  // of neighbouring links, so that there are several islands
      for (std::int32_t link = first; link < first + 1 + random(4); ++link) links.push_back(link);
      sharing.add(flow, links);
    } else {
      sharing.remove(flow);
      links.clear();
      rates[static_cast<std::size_t>(flow)] = 0;
    }
    if (random(3) == 0) continue;  // several changes at once
    for (const RateChange& told : sharing.settle()) rates[static_cast<std::size_t>(told.flow)] = told.rate;
    const std::vector<double> expected = rates_by_filling(capacities, flows);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (flows[f].empty()) continue;
      ASSERT_NEAR(rates[f], expected[f], 1e-9 * expected[f]) << change << ' ' << f;
    }
  }
}

TEST(FlowNetwork, AMessageTakesLatencyAndSizeOverBandwidth) {
  FlowNetwork network(flow_switch(3));
  const FlowId id = network.start_message(Nanoseconds{500}, Bytes{10'000}, DeviceId{0}, DeviceId{1});
  EXPECT_EQ(ends(run_to_the_end(network), id), 500 + 1000 + 10'000);
  EXPECT_FALSE(network.next_event());
  const FlowId self = network.start_message(network.now(), Bytes{10'000}, DeviceId{2}, DeviceId{2});
  const FlowId empty = network.start_message(network.now(), Bytes{0}, DeviceId{0}, DeviceId{2});
  const std::vector<FlowCompletion> done = run_to_the_end(network);
  EXPECT_EQ(ends(done, self), 11'500);
  EXPECT_EQ(ends(done, empty), 12'500);
}

TEST(FlowNetwork, TwoGroupsThatShareALinkHaveHalfEach) {
  const Cluster cluster = several_nodes(2, 2, example_fabric(FabricTopology::kSwitch, 100e9, 0),
                                        example_fabric(FabricTopology::kSwitch, 1e9, 0));
  FlowNetwork network(cluster);
  const auto one = device_range(0, 2, 2), other = device_range(1, 2, 2);
  const CollectiveRequest reduce{.type = CollectiveType::kAllReduce, .size = Bytes{100'000}, .members = one};
  const FlowId first = network.start_collective({}, reduce);
  const FlowId second =
      network.start_collective({}, {.type = reduce.type, .size = Bytes{50'000}, .members = other});
  const std::vector<FlowCompletion> done = run_to_the_end(network);
  // Halves until the smaller is done: 2 x 25,000 bytes at half of the rate; the other then has all of it.
  EXPECT_EQ(ends(done, second), 100'000);
  EXPECT_EQ(ends(done, first), 150'000);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done.front().id, second);
}

TEST(FlowNetwork, ALateFlowTakesItsPartOfWhatIsLeft) {
  FlowNetwork network(flow_switch(3));
  const FlowId early = network.start_message({}, Bytes{10'000}, DeviceId{0}, DeviceId{1});
  std::vector<FlowCompletion> done;
  network.advance(Nanoseconds{4000}, done);
  const FlowId late = network.start_message(Nanoseconds{4000}, Bytes{10'000}, DeviceId{2}, DeviceId{1});
  done = run_to_the_end(network);
  // 4,000 bytes alone (1,000 to 5,000), 6,000 at half of the rate, then the late one alone.
  EXPECT_EQ(ends(done, early), 5000 + 12'000);
  EXPECT_EQ(ends(done, late), 5000 + 12'000 + 4000);
}

TEST(FlowNetwork, AloneCollectivesTakeTheirClosedForms) {
  for (const CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree, CollectiveAlgorithm::kHalvingDoubling,
        CollectiveAlgorithm::kDirect, CollectiveAlgorithm::kHierarchical}) {
    for (int type = 0; type < 10; ++type) {
      for (std::int32_t n = 2; n <= 8; ++n) {
        const auto members = device_range(0, n);
        const CollectiveRequest request{
            .type = static_cast<CollectiveType>(type), .size = Bytes{7'000'000}, .members = members};
        FlowNetwork network(flow_switch(8), {.algorithm = algorithm});
        const FlowId id = network.start_collective({}, request);
        const double expected = static_cast<double>(network.model().collective(request).count());
        EXPECT_NEAR(static_cast<double>(ends(run_to_the_end(network), id)), expected, 0.001 * expected)
            << to_string(algorithm) << ' ' << to_string(request.type) << ' ' << n;
      }
    }
  }
}

TEST(FlowNetwork, AgreesWithClosedFormsOverNodes) {
  Fabric cards = example_fabric(FabricTopology::kSwitch, 4e9, 5000);
  cards.device_bandwidth = ByteRate{1e9};
  const Cluster cluster = several_nodes(4, 4, example_fabric(FabricTopology::kSwitch, 20e9, 1000), cards);
  for (const CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree, CollectiveAlgorithm::kHierarchical,
        CollectiveAlgorithm::kDirect, CollectiveAlgorithm::kHalvingDoubling}) {
    const auto members = device_range(0, 16);
    const CollectiveRequest request{
        .type = CollectiveType::kAllReduce, .size = Bytes{64'000'000}, .members = members};
    FlowNetwork network(cluster, {.algorithm = algorithm});
    const FlowId id = network.start_collective({}, request);
    const double expected = static_cast<double>(network.model().collective(request).count());
    EXPECT_NEAR(static_cast<double>(ends(run_to_the_end(network), id)), expected, 0.01 * expected)
        << to_string(algorithm);
  }
}

TEST(FlowNetwork, KnowsProtocolsAndWhatWasMeasured) {
  Cluster cluster = flow_switch(4);
  cluster.kinds[0].inside.protocols = {
      {.name = "simple", .overhead = Nanoseconds{5000}, .step = Nanoseconds{3000}, .share = 0.5}};
  cluster.kinds[0].inside.local_bandwidth = ByteRate{10e9};
  cluster.kinds[0].inside.measured.messages = {{.size = Bytes{1000}, .time = Nanoseconds{33'000}}};
  const auto members = device_range(0, 4);
  const CollectiveRequest request{
      .type = CollectiveType::kAllReduce, .size = Bytes{4'000'000}, .members = members};
  FlowNetwork network(cluster);
  const FlowId all = network.start_collective({}, request);
  const FlowId message = network.start_message({}, Bytes{1000}, DeviceId{0}, DeviceId{1});
  const std::vector<FlowCompletion> done = run_to_the_end(network);
  EXPECT_EQ(ends(done, all), network.model().collective(request).count());
  EXPECT_EQ(ends(done, message), 33'000);
}

TEST(FlowNetwork, TheSameCallsGiveTheSameAnswers) {
  const Cluster cluster = several_nodes(4, 4, example_fabric(FabricTopology::kRing, 3e9, 700),
                                        example_fabric(FabricTopology::kBus, 5e9, 900));
  std::vector<std::vector<FlowCompletion>> runs;
  for (int repeat = 0; repeat < 2; ++repeat) {
    FlowNetwork network(cluster);
    std::vector<FlowCompletion> done;
    for (std::int32_t i = 0; i < 16; ++i) {
      network.start_message(Nanoseconds{i * 137}, Bytes{100'003 + i}, DeviceId{i},
                            DeviceId{(i * 7 + 3) % 16});
      network.advance(Nanoseconds{i * 137 + 50}, done);
    }
    network.start_collective(
        network.now(),
        {.type = CollectiveType::kAllToAll, .size = Bytes{1'000'000}, .members = device_range(0, 16)});
    while (const auto next = network.next_event()) network.advance(*next, done);
    EXPECT_EQ(done.size(), 17U);
    runs.push_back(done);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace nadi::inline predict
